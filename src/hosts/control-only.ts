/** Advice on the first host, if the login of CARTAGE_DATABASE_URL is not a superuser. */
export const controlOnlyAdvice =
  'The login of CARTAGE_DATABASE_URL is not a superuser: its server has only the control database and takes no users. They need another host: cartage host add'
