-- A row that does not fit has no key; all of them together are the rows looked at.
SELECT looked.key, count(*) FROM (
SELECT CASE WHEN
