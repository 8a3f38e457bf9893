"""One module for each family of locating methods; `registry` names them."""
