"""What providers share: the contract, chat APIs, models behind HTTP, authentication, prices, and checks of options and ids."""
