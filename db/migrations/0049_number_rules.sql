-- How the phone numbers of an account are read: the country of those without a country code (null: they are refused),
-- and whether numbers of a length that their country does not have are refused. The country was a setting of contacts
-- alone; sends read numbers in the same way now, and get both columns with the credentials.
ALTER TABLE account ADD COLUMN default_country text CHECK (default_country ~ '^[A-Z]{2}$');
ALTER TABLE account ADD COLUMN number_checks text NOT NULL DEFAULT 'strict'
  CHECK (number_checks IN ('strict', 'lenient'));
UPDATE account a SET default_country = b.default_country
FROM contact_book b WHERE b.account_id = a.id AND b.default_country IS NOT NULL;
ALTER TABLE contact_book DROP COLUMN default_country;
