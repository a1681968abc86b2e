-- A new account is given these by name, also in a database that has not come so far yet.
drop function cartage.allow_sessions(text);
drop function cartage.session_functions();
