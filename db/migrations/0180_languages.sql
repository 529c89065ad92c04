-- Which languages there are is decided by the program (src/identity/mail-text.ts).
ALTER TABLE password_reset_request DROP CONSTRAINT password_reset_request_language_check;
ALTER TABLE password_reset_request ADD CONSTRAINT password_reset_request_language_check CHECK (language ~ '^[a-z]{2}$');
