"""How well and how fast the evidence check tells invented values from honest ones, on answers made by code with seeds."""
