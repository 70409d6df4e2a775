"""Units that numbers wear: what they measure, and the exact factor to the unit of their dimension."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from agentfp_evidence.lexicon import word_list


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A unit; each exists once.

    Args:
        name: its canonical name.
        dimension: what it measures; only units of one dimension are converted.
        factor: how many of the dimension's base unit it is; 0 where nothing is converted.
    """

    name: str
    dimension: str
    factor: Fraction = Fraction(0)


_EXACT: dict[str, Unit] = {}
"""By symbol as written."""
_WORDS: dict[str, Unit] = {}
"""By word in lower case."""
_NAMED: dict[str, Unit] = {}
"""By canonical name."""


def _add(name: str, dimension: str, factor: Fraction | int | str, symbols: str = "", words: str = "") -> None:
    unit = Unit(name, dimension, Fraction(factor))
    _NAMED[name] = unit
    for symbol in symbols.split():
        _EXACT[symbol] = unit
    for word in words.split():
        _WORDS[word] = unit


_add("percent", "percent", 1, "%", "percent pct prozent percentage")
for _i, _p in enumerate("kMGTP", 1):
    _si, _iec = 1000**_i, 1024**_i
    _upper = _p.upper()
    _add(f"{_upper}B", "bytes", _si, f"{_p}B {_upper}B {_p.lower()}b" if _i == 1 else f"{_upper}B", f"{_p.lower()}b")
    _add(f"{_upper}iB", "bytes", _iec, f"{_upper}iB {_p}iB", f"{_p.lower()}ib")
    _add(f"{_upper}bit", "bits", _si, f"{_p}bit {_upper}bit")
    _add(f"{_upper}bps", "bit rate", _si, f"{_p}bps {_upper}bps {_p}bit/s {_upper}bit/s {_upper}b/s", f"{_p.lower()}bps")
    _add(f"{_upper}B/s", "byte rate", _si, f"{_p}B/s {_upper}B/s {_upper}Bps")
_add("B", "bytes", 1, "", "bytes byte octets")
_add("bit", "bits", 1, "", "bits bit")
_add("kilobytes", "bytes", 1000, "", "kilobytes kilobyte")
_add("megabytes", "bytes", 1000**2, "", "megabytes megabyte")
_add("gigabytes", "bytes", 1000**3, "", "gigabytes gigabyte")
_add("terabytes", "bytes", 1000**4, "", "terabytes terabyte")
_add("ns", "time", "1/1000000000", "ns", "nanoseconds nanosecond")
_add("us", "time", "1/1000000", "us µs μs", "microseconds microsecond")
_add("ms", "time", "1/1000", "ms", "milliseconds millisecond millisekunden millisecondes msec")
_add("s", "time", 1, "s", "seconds second secs sec sekunden sekunde secondes seconde segundos segundo secondi secondo seconden")
_add("min", "time", 60, "min", "minutes minute mins minuten minuti minutos minuto minuut")
_add("h", "time", 3600, "h", "hours hour hrs hr stunden stunde std heures heure horas hora ore ora uur uren")
_add("d", "time", 86400, "d", "days day tage tagen tag jours jour días día dias dia giorni giorno dagen dag")
_add("week", "time", 604800, "", "weeks week wochen woche semaines semaine semanas semana settimane settimana weken")
_add("month", "months", 1, "", "months month monate monaten monat mois meses mes mesi mese mês maanden maand")
_add("year", "months", 12, "", "years year jahre jahren jahr ans années année años año anni anno anos jaar jaren")
_add("mm", "length", "1/1000", "mm", "millimeters millimetres millimeter")
_add("cm", "length", "1/100", "cm", "centimeters centimetres centimeter")
_add("m", "length", 1, "", "meters metres meter metre mètres mètre")
_add("km", "length", 1000, "km", "kilometers kilometres kilometer kilomètres")
_add("in", "length", "254/10000", "", "inches inch zoll pouces")
_add("ft", "length", "3048/10000", "ft", "feet foot")
_add("mi", "length", "1609344/1000", "mi", "miles mile")
_add("mg", "mass", "1/1000000", "mg", "milligrams milligram milligramm")
_add("µg", "mass", "1/1000000000", "µg μg mcg", "micrograms microgram")
_add("g", "mass", "1/1000", "g", "grams gram gramm grammes")
_add("kg", "mass", 1, "kg", "kilograms kilogram kilogramm kilogrammes kilos kilo")
_add("t", "mass", 1000, "t", "tonnes tonne tonnen")
_add("lb", "mass", "45359237/100000000", "lb lbs", "pounds pound")
_add("oz", "mass", "28349523125/1000000000000", "oz", "ounces ounce")
_add("ml", "volume", "1/1000", "ml mL", "milliliters millilitres milliliter")
_add("l", "volume", 1, "L", "liters litres liter litre litern")
_add("m²", "area", 1, "m² m2 sqm", "sqm")
_add("ha", "area", 10_000, "ha", "hectares hectare hektar")
_add("kcal", "food energy", 1, "kcal", "kilocalories")
_add("Hz", "frequency", 1, "Hz")
_add("MHz", "frequency", 10**6, "MHz")
_add("GHz", "frequency", 10**9, "GHz")
_add("mV", "voltage", "1/1000", "mV", "millivolts millivolt")
_add("V", "voltage", 1, "V", "volts volt")
_add("mA", "current", "1/1000", "mA", "milliamps milliamp")
_add("A", "current", 1, "", "amps amp ampere amperes")
_add("W", "power", 1, "W", "watts watt")
_add("kW", "power", 1000, "kW")
_add("MW", "power", 10**6, "MW")
_add("kWh", "energy", 1000, "kWh")
_add("MWh", "energy", 10**6, "MWh")
_add("°C", "celsius", 0, "°C", "celsius")
_add("°F", "fahrenheit", 0, "°F", "fahrenheit")
_add("IOPS", "iops", 1, "", "iops")
_add("mg/dL", "mg/dl", 1, "mg/dL mg/dl")
_add("mmol/L", "mmol/l", 1, "mmol/L mmol/l")
_add("mmHg", "mmhg", 1, "mmHg mmhg")
_add("bpm", "bpm", 1, "bpm")
for _name, _symbols, _words in (
    ("USD", "$ US$ USD", "dollars dollar usd"),
    ("EUR", "€ EUR", "euros euro eur"),
    ("GBP", "£ GBP", "gbp sterling"),
    ("CHF", "CHF", "chf franken"),
    ("JPY", "¥ JPY", "yen jpy"),
    ("CAD", "CAD C$", "cad"),
    ("AUD", "AUD A$", "aud"),
    ("INR", "₹ INR", "rupees inr"),
    ("SEK", "SEK", "sek"),
    ("PLN", "PLN zł", "pln"),
):
    _add(_name, f"money {_name}", 1, _symbols, _words)

_TWO_POUNDS = {"lb", "GBP"}
"""A pound may be either."""
PERCENT = _EXACT["%"]
_KEY_UNITS = word_list("key_units")
_OF_KEY = {name: unit for name in _KEY_UNITS for symbol, unit in (*_EXACT.items(), *_WORDS.items()) if symbol.lower() == name}
_MONEY_MARK = "money "
_LENGTHS = re.compile(r"(?:distance|dist|length|height|width|depth|altitude|elevation|radius|range)$", re.IGNORECASE)
_LONE = frozenset(name for name in _OF_KEY if len(name) > 3 and name != "second")
"""Keys that are nothing but a unit, and cannot mean anything else."""


def unit_of(text: str) -> Unit | None:
    """The unit that a symbol or a word names; None for any other word.

    Args:
        text: what stands right behind a number.
    """
    return _EXACT.get(text) or _WORDS.get(text.lower())


_LENGTH_KEY = re.compile(r"dist|length|width|height|depth|altitude|elevation|radius|range", re.IGNORECASE)


@lru_cache(maxsize=4096)
def unit_of_key(key: str) -> Unit | None:
    """The unit that the end of a key names: ``used_tb``, ``latency-ms``, ``durationSeconds``, ``size [GB]`` of tables of text."""
    if key.endswith("]"):
        return _NAMED.get(key[key.rfind("[") + 1 : -1])
    counted, per, _ = key.partition("_per_")
    if per and counted in _OF_KEY:  # "kg_per_bag" are kilograms
        return _OF_KEY[counted]
    key = counted
    head, _, tail = key.replace("-", "_").rpartition("_")
    if tail == "m" and _LENGTH_KEY.search(head):
        return _NAMED["m"]
    if not head and not tail.islower():
        at = max((i for i, c in enumerate(tail) if c.isupper()), default=0)
        tail = tail[at:]
    elif not head and tail not in _LONE:
        return None  # "min" alone is a minimum
    if tail == "m" and _LENGTHS.search(head) is not None:
        return _WORDS["metres"]
    return _OF_KEY.get(tail.lower())


def is_money(unit: Unit | None) -> bool:
    """Whether a unit is a currency."""
    return unit is not None and unit.dimension.startswith(_MONEY_MARK)


def agree(a: Unit | None, b: Unit | None) -> bool:
    """Whether a number with one unit may be the same number with the other: units agree, or one of them is unstated."""
    if a is None or b is None or a is b or (a.dimension == b.dimension and a.factor == b.factor):
        return True
    return {a.name, b.name} == _TWO_POUNDS


def convertible(a: Unit | None, b: Unit | None) -> bool:
    """Whether numbers of one unit convert exactly to the other."""
    if a is None or b is None or a is b or a.dimension != b.dimension:
        return False
    return a.factor != b.factor and a.factor != 0 and b.factor != 0
