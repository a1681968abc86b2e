/** What happened, in a word. The doors decide how it sounds: a status code, an exit code. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'slow'
  | 'conflict'
  | 'too-large'
  | 'unsupported'
  | 'unprocessable'
  | 'limited'
  | 'unavailable'

export type ErrorExtras = Readonly<{
  detail?: string | undefined
  hint?: string | undefined
  context?: string | undefined
  position?: number | undefined
  sqlstate?: string | undefined
  retryAfterSeconds?: number | undefined
  /** Further members of the error document. */
  body?: Readonly<Record<string, unknown>> | undefined
  cause?: unknown
}>

/** An error that we raise on purpose: its text is meant for the client. Anything else is a bug. */
export class AppError extends Error {
  readonly code: string
  readonly kind: ErrorKind
  readonly extras: ErrorExtras

  constructor(code: string, kind: ErrorKind, message: string, extras: ErrorExtras = {}) {
    super(message, { cause: extras.cause })
    this.name = 'AppError'
    this.code = code
    this.kind = kind
    this.extras = extras
  }
}

const raise = (code: string, kind: ErrorKind, message: string, extras?: ErrorExtras) =>
  new AppError(code, kind, message, extras)

/** The closed list of every error we raise. Codes never change; docs/errors.md lists them. */
export const errors = {
  // requests
  badRequest: (text: string) => raise('bad-request', 'invalid', text),
  notFound: (what: string) => raise('not-found', 'not-found', `${what} not found`),
  bodyTooLarge: (maxBytes: number) =>
    raise('body-too-large', 'too-large', `The request body is larger than ${maxBytes} bytes`),
  unsupportedMedia: (text: string) => raise('unsupported-media', 'unsupported', text),

  clientTooSlow: () => raise('client-too-slow', 'slow', 'The request did not arrive in time'),

  // who is asking
  unauthorized: () => raise('unauthorized', 'unauthenticated', 'Unauthorized'),
  permissionDenied: () => raise('permission-denied', 'forbidden', 'permission denied'),
  wrongCredential: () => raise('wrong-credential', 'unauthenticated', 'permission denied'),
  notYourResource: () =>
    raise('not-your-resource', 'forbidden', "You don't have permission to access that resource"),
  apiForbidden: () => raise('api-forbidden', 'forbidden', 'forbidden'),
  adminOff: () => raise('admin-off', 'not-found', 'The admin API is off: no admin token is configured'),

  // accounts
  userUnknown: (name: string) =>
    raise('user-unknown', 'not-found', `Sorry, we can't find the user '${name}'`),
  accountNotFound: (kind: string, name: string) =>
    raise('account-not-found', 'not-found', `${kind} '${name}' not found`),
  accountTaken: (name: string) => raise('account-taken', 'conflict', `The name '${name}' is already taken`),
  accountInvalid: (text: string) => raise('account-invalid', 'unprocessable', text),
  accountBusy: (name: string) =>
    raise('account-busy', 'conflict', `The account '${name}' is being created or deleted`),
  organizationHasMembers: (name: string) =>
    raise(
      'organization-has-members',
      'conflict',
      `The organization '${name}' still has members besides its owner`,
    ),
  ownerCannotLeave: (name: string, organization: string) =>
    raise(
      'owner-cannot-leave',
      'conflict',
      `The user '${name}' owns the organization '${organization}': delete the organization instead`,
    ),

  // the database
  database: (kind: ErrorKind, message: string, extras: ErrorExtras) =>
    raise('database', kind, message, extras),
  databaseUnavailable: (cause?: unknown) =>
    raise('database-unavailable', 'unavailable', 'The database is not reachable at the moment', { cause }),
  connectionsExhausted: (waitedMs: number) =>
    raise(
      'connections-exhausted',
      'unavailable',
      `No database connection became free within ${waitedMs} ms`,
      {
        retryAfterSeconds: 1,
      },
    ),
  shuttingDown: () =>
    raise('shutting-down', 'unavailable', 'The service is shutting down', { retryAfterSeconds: 1 }),
  statementTimeout: () =>
    raise(
      'statement-timeout',
      'limited',
      "You are over platform's limits: SQL query timeout error. Refactor your query before running again or contact the operator for more details.",
      {
        context: 'limit',
        detail: 'datasource',
      },
    ),
} satisfies Record<string, (...args: never[]) => AppError>
