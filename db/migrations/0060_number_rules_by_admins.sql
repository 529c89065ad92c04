-- Admins set how the numbers of their account are read; so far only operators could.
GRANT UPDATE (default_country, number_checks) ON account TO heliograph_tenant;
