"""Why a decision fell as it did: explanations, and the runtime forecasts they need."""
