"""The pages of the app: one folder a page, with all that only it needs. A folder of several views has one for each."""
