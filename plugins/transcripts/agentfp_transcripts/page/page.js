"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const card = document.getElementById("card");
const target = (link) => document.getElementById(link.hash.slice(1));

// Hovering over a value, or reaching it by keyboard, shows what the list says of it, and what stands at its first source.
function show(link) {
  const row = target(link);
  if (!row) return;
  card.replaceChildren(...[...row.childNodes].map((node) => node.cloneNode(true)));
  all("[id]", card).forEach((node) => node.removeAttribute("id"));
  const first = row.querySelector("ul a");
  const mark = first && target(first);
  if (mark && mark.tagName === "MARK") {
    const code = document.createElement("code");
    code.className = "excerpt";
    code.textContent = mark.textContent;
    card.append(code);
  }
  card.hidden = false;
  const at = link.getClientRects()[0] || link.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - card.offsetWidth - 8));
  const below = at.bottom + 6;
  const top = below + card.offsetHeight > innerHeight ? Math.max(8, at.top - card.offsetHeight - 6) : below;
  card.style.setProperty("left", `${left}px`);
  card.style.setProperty("top", `${top}px`);
}
const hide = () => { card.hidden = true; };

// Choosing a value lights up its row and every place that it comes from, and opens the results that hold them.
function choose(link) {
  const row = target(link);
  if (!row) return;
  all(".lit").forEach((node) => node.classList.remove("lit"));
  link.classList.add("lit");
  row.classList.add("lit");
  const places = all("ul a", row).map(target).filter(Boolean);
  for (const place of places) {
    const holder = place.closest("details");
    if (holder) holder.open = true;
    place.classList.add("lit");
  }
  row.scrollIntoView({ block: "nearest" });
  for (const place of places.slice(0, 1)) {
    const box = place.closest("pre");
    if (box) box.scrollTop = place.offsetTop - box.offsetTop - box.clientHeight / 3;
  }
}
document.addEventListener("mouseover", (event) => { const link = event.target.closest(".v"); link ? show(link) : hide(); });
document.addEventListener("focusin", (event) => { const link = event.target.closest(".v"); link ? show(link) : hide(); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
document.addEventListener("scroll", hide, { passive: true });
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || !link.hash) return;
  if (link.classList.contains("v")) {
    event.preventDefault();
    choose(link);
    return;
  }
  const holder = target(link)?.closest("details");
  if (holder) holder.open = true;
});

// Filters.
const find = document.getElementById("find");
function filter() {
  const verdict = document.querySelector("input[name=show]:checked").value;
  const words = find.value.trim().toLowerCase();
  let shown = 0;
  for (const section of all(".transcript")) {
    const name = section.querySelector("h2").textContent.toLowerCase();
    let any = false;
    for (const article of all("article", section)) {
      const fits = (!verdict || article.dataset.has.split(" ").includes(verdict))
        && (!words || name.includes(words) || article.textContent.toLowerCase().includes(words));
      article.hidden = !fits;
      any = any || fits;
      shown += fits;
      all(".v, .values > li", article).forEach((node) => node.classList.toggle("dim", Boolean(verdict) && !node.classList.contains(verdict)));
    }
    section.hidden = !any;
  }
  document.getElementById("none").hidden = shown > 0;
}
document.querySelector(".top form").addEventListener("submit", (event) => event.preventDefault());
all("input[name=show]").forEach((input) => input.addEventListener("change", filter));
find.addEventListener("input", filter);
document.getElementById("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
});
filter();
