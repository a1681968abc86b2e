-- How the rows of a query are drawn: JSON as text; null if nobody has chosen.
alter table cartage.saved_queries add column chart text;
