// Controls and regions that a screen reader has no name for.
() => {
  const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length || e.getAttribute("aria-labelledby");
  return [...document.querySelectorAll("button, a, input, select, [role]")].filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 100));
}
