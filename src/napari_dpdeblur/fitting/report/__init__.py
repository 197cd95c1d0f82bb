"""How well a fit explains the views: noise, residual, verdict."""
