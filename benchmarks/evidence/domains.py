"""The domains of the bench: what their tools serve, and what an honest answer says of it."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FIRST = [
    "Ingrid",
    "Tobias",
    "Leonie",
    "Camille",
    "Mathieu",
    "Priya",
    "Rajesh",
    "Oluwaseun",
    "Katarzyna",
    "Dmitri",
    "Sinead",
    "Paolo",
    "Lucía",
    "Henrik",
    "Yasmin",
    "Gareth",
    "Noémie",
    "Björn",
]
LAST = [
    "Vandenberg",
    "Achterberg",
    "Lindqvist",
    "Okonkwo",
    "Ferreira",
    "Dubois",
    "Kowalczyk",
    "Iyer",
    "Marchetti",
    "Steinhauer",
    "Callahan",
    "Bouchard",
    "Nakagawa",
    "Petrov",
    "Ødegaard",
    "Quintero",
]
OTHER_FIRST = ["Wilhelmina", "Augustin", "Delphine", "Fergus", "Svetlana", "Thandiwe", "Ignacio", "Maren"]
OTHER_LAST = ["Hollenbeck", "Abernathy", "Castellanos", "Wiśniewski", "Thibodeaux", "Grünwald", "Mbeki", "Sorensen"]
COMPANIES = ["Vexatron Ltd", "Norrwik AB", "Kestrelle SA", "Ostfalen GmbH", "Brightmere Inc", "Talvera SAS", "Quorvex Corp", "Hallmund AG"]


@dataclass(frozen=True)
class Field:
    """A field of a row.

    Args:
        key: its key in the result.
        kind: ``id``, ``person``, ``company``, ``money``, ``quantity``, ``percent``, ``count``, ``date`` or ``time``.
        labels: what answers call it, by language.
        make: makes a value.
        unit: the unit that answers write.
        decimals: digits of the fraction.
    """

    key: str
    kind: str
    labels: dict[str, str]
    make: Callable[[random.Random], Any]
    unit: str = ""
    decimals: int = 0


@dataclass(frozen=True)
class Domain:
    """A domain.

    Args:
        name: its name.
        tool: the tool that serves it.
        rows: the key of the list of rows.
        nouns: what one calls the rows, by language.
        ask: the person's question, by language.
        fields: the fields of a row; the first is the identifier.
        total: the field of which answers state the sum.
    """

    name: str
    tool: str
    rows: str
    nouns: dict[str, str]
    ask: dict[str, str]
    fields: tuple[Field, ...]
    total: str


def _labels(en: str, de: str, fr: str) -> dict[str, str]:
    return {"en": en, "de": de, "fr": fr}


def _code(prefix: str, digits: int) -> Callable[[random.Random], str]:
    return lambda rng: f"{prefix}{rng.randrange(10 ** (digits - 1), 10**digits)}"


def _hex(length: int) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        while True:
            text = "".join(rng.choice("0123456789abcdef") for _ in range(length))
            if any(c.isalpha() for c in text) and any(c.isdigit() for c in text):
                return text

    return make


def _person(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _day(rng: random.Random) -> str:
    return (datetime.date(2025, 3, 1) + datetime.timedelta(days=rng.randrange(200))).isoformat()


def _time(rng: random.Random) -> str:
    return f"{rng.randrange(5, 23):02}:{rng.choice((0, 5, 10, 15, 20, 25, 35, 40, 50, 55)):02}:00"


def _between(low: int, high: int, decimals: int = 0) -> Callable[[random.Random], float]:
    return lambda rng: rng.randrange(low, high) if not decimals else round(rng.uniform(low, high), decimals)


DOMAINS = (
    Domain(
        "ops", "list_volumes", "volumes", _labels("volumes", "Volumes", "volumes"),
        _labels("How full are the volumes?", "Wie voll sind die Volumes?", "Quel est le taux de remplissage des volumes ?"),
        (
            Field("id", "id", _labels("Volume", "Volume", "Volume"), _code("vol-", 5)),
            Field("used_gb", "quantity", _labels("Used", "Belegt", "Utilisé"), _between(1200, 9800), "GB"),
            Field("latency_ms", "quantity", _labels("Latency", "Latenz", "Latence"), _between(2, 90, 2), "ms", 2),
            Field("fill_pct", "percent", _labels("Fill level", "Füllstand", "Taux de remplissage"), _between(11, 97, 1), "%", 1),
            Field("last_snapshot", "date", _labels("Last snapshot", "Letzter Snapshot", "Dernier instantané"), _day),
        ), "used_gb",
    ),
    Domain(
        "finance", "get_invoices", "invoices", _labels("invoices", "Rechnungen", "factures"),
        _labels("Which invoices are open?", "Welche Rechnungen sind offen?", "Quelles factures sont ouvertes ?"),
        (
            Field("invoice", "id", _labels("Invoice", "Rechnung", "Facture"), _code("INV-", 6)),
            Field("customer", "company", _labels("Customer", "Kunde", "Client"), lambda rng: rng.choice(COMPANIES)),
            Field("amount_eur", "money", _labels("Amount", "Betrag", "Montant"), _between(120, 98000, 2), "€", 2),
            Field("due", "date", _labels("Due", "Fällig am", "Échéance"), _day),
            Field("discount_pct", "percent", _labels("Discount", "Rabatt", "Remise"), _between(1, 15, 1), "%", 1),
        ), "amount_eur",
    ),
    Domain(
        "retail", "search_orders", "orders", _labels("orders", "Bestellungen", "commandes"),
        _labels("Where are my orders?", "Wo sind meine Bestellungen?", "Où sont mes commandes ?"),
        (
            Field("order_id", "id", _labels("Order", "Bestellung", "Commande"), lambda rng: f"W{rng.randrange(1000000, 9999999)}"),
            Field("recipient", "person", _labels("Recipient", "Empfänger", "Destinataire"), _person),
            Field("price_usd", "money", _labels("Price", "Preis", "Prix"), _between(8, 900, 2), "$", 2),
            Field("items", "count", _labels("Items", "Artikel", "Articles"), _between(13, 99)),
            Field("delivery", "date", _labels("Delivery", "Lieferung", "Livraison"), _day),
        ), "price_usd",
    ),
    Domain(
        "health", "lab_results", "results", _labels("results", "Ergebnisse", "résultats"),
        _labels("What do the lab results say?", "Was sagen die Laborwerte?", "Que disent les analyses ?"),
        (
            Field("sample", "id", _labels("Sample", "Probe", "Échantillon"), lambda rng: f"LB{rng.randrange(10000, 99999)}X"),
            Field("physician", "person", _labels("Physician", "Arzt", "Médecin"), _person),
            Field("glucose_mg", "quantity", _labels("Glucose", "Glukose", "Glucose"), _between(70, 240, 1), "mg", 1),
            Field("taken", "date", _labels("Taken on", "Entnommen am", "Prélevé le"), _day),
            Field("time", "time", _labels("Time", "Uhrzeit", "Heure"), _time),
        ), "glucose_mg",
    ),
    Domain(
        "logistics", "track_shipments", "shipments", _labels("shipments", "Sendungen", "envois"),
        _labels("Where are the shipments?", "Wo sind die Sendungen?", "Où sont les envois ?"),
        (
            Field("tracking", "id", _labels("Shipment", "Sendung", "Envoi"), lambda rng: f"JJD{rng.randrange(10**8, 10**9)}"),
            Field("weight_kg", "quantity", _labels("Weight", "Gewicht", "Poids"), _between(101, 8900, 1), "kg", 1),
            Field("distance_km", "quantity", _labels("Distance", "Entfernung", "Distance"), _between(110, 4900), "km"),
            Field("arrival", "time", _labels("Arrival", "Ankunft", "Arrivée"), _time),
            Field("consignee", "company", _labels("Consignee", "Empfänger", "Destinataire"), lambda rng: rng.choice(COMPANIES)),
        ), "weight_kg",
    ),
    Domain(
        "code", "list_commits", "commits", _labels("commits", "Commits", "commits"),
        _labels("What changed lately?", "Was wurde zuletzt geändert?", "Qu'est-ce qui a changé ?"),
        (
            Field("sha", "id", _labels("Commit", "Commit", "Commit"), _hex(10)),
            Field("author", "person", _labels("Author", "Autor", "Auteur"), _person),
            Field("additions", "count", _labels("Lines added", "Zeilen hinzugefügt", "Lignes ajoutées"), _between(120, 4900)),
            Field("coverage_pct", "percent", _labels("Coverage", "Abdeckung", "Couverture"), _between(41, 99, 1), "%", 1),
            Field("merged", "date", _labels("Merged", "Gemergt am", "Fusionné le"), _day),
        ), "additions",
    ),
    Domain(
        "energy", "read_meters", "meters", _labels("meters", "Zähler", "compteurs"),
        _labels("What did we use?", "Was haben wir verbraucht?", "Combien avons-nous consommé ?"),
        (
            Field("meter", "id", _labels("Meter", "Zähler", "Compteur"), _code("DE00", 9)),
            Field("use_kwh", "quantity", _labels("Use", "Verbrauch", "Consommation"), _between(210, 9900), "kWh"),
            Field("cost_eur", "money", _labels("Cost", "Kosten", "Coût"), _between(60, 2900, 2), "€", 2),
            Field("read_on", "date", _labels("Read on", "Abgelesen am", "Relevé le"), _day),
            Field("tenant", "person", _labels("Tenant", "Mieter", "Locataire"), _person),
        ), "use_kwh",
    ),
)  # fmt: skip
