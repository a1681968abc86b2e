import type { ErrorCode } from './contract/error-codes.ts'
import type { HeldLimit } from './contract/usage-names.ts'

/** What happened, in one word. The entry points map it to a status code or an exit code. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'not-allowed'
  | 'slow'
  | 'conflict'
  | 'precondition'
  | 'locked'
  | 'checksum'
  | 'too-large'
  | 'unsupported'
  | 'unprocessable'
  | 'limited'
  | 'unavailable'
  | 'broken'

export type ErrorExtras = Readonly<{
  detail?: string | undefined
  hint?: string | undefined
  context?: string | undefined
  position?: number | undefined
  sqlstate?: string | undefined
  retryAfterSeconds?: number | undefined
  /** The limit that the account has reached. */
  accountLimit?: HeldLimit | undefined
  /** Further members of the error document. */
  body?: Readonly<Record<string, unknown>> | undefined
  cause?: unknown
}>

/** An error that we raise on purpose: its text is for the client. Anything else is a bug. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly extras: ErrorExtras

  constructor(code: ErrorCode, kind: ErrorKind, message: string, extras: ErrorExtras = {}) {
    super(message, { cause: extras.cause })
    this.name = 'AppError'
    this.code = code
    this.kind = kind
    this.extras = extras
  }
}

/** An error of one code, so that the compiler knows which codes are raised. */
type Raised<Code extends ErrorCode> = AppError & Readonly<{ code: Code }>

const raise = <Code extends ErrorCode>(code: Code, kind: ErrorKind, message: string, extras?: ErrorExtras) =>
  new AppError(code, kind, message, extras) as Raised<Code>

/** The closed list of all errors that we raise. Codes never change; docs/errors.md lists them. */
export const errors = {
  // requests
  badRequest: (text: string, hint?: string) => raise('bad-request', 'invalid', text, { hint }),
  pathUnknown: () => raise('path-unknown', 'not-found', 'Not found'),
  methodNotAllowed: (method: string) =>
    raise('method-not-allowed', 'not-allowed', `Method ${method} is not allowed here`),
  notFound: (what: string) => raise('not-found', 'not-found', `${what} not found`),
  bodyTooLarge: (maxBytes: number) =>
    raise('body-too-large', 'too-large', `The request body is larger than ${maxBytes} bytes`),
  bodiesExhausted: () =>
    raise('bodies-exhausted', 'unavailable', 'Too many large request bodies are in memory: try again later', {
      hint: 'Send the token in the Authorization header: without it, the body counts against the limit for callers without a key',
      retryAfterSeconds: 1,
    }),
  unsupportedMedia: (text: string) => raise('unsupported-media', 'unsupported', text),
  /** A bug: the log has the cause, the client is told nothing about it. */
  internal: (cause: unknown) => raise('internal', 'broken', 'Internal server error', { cause }),

  requestRepeated: () =>
    raise(
      'request-repeated',
      'conflict',
      'This Idempotency-Key was used already: nothing was run. Check the effect of the first request.',
    ),
  clientTooSlow: (text = 'The request did not arrive in time') => raise('client-too-slow', 'slow', text),

  // callers
  unauthorized: (hint?: string) => raise('unauthorized', 'unauthenticated', 'Unauthorized', { hint }),
  permissionDenied: () => raise('permission-denied', 'forbidden', 'permission denied'),
  wrongCredential: () => raise('wrong-credential', 'unauthenticated', 'permission denied'),
  notYourResource: () =>
    raise('not-your-resource', 'forbidden', "You don't have permission to access that resource"),
  apiForbidden: (text = 'forbidden') => raise('api-forbidden', 'forbidden', text),
  adminOff: () => raise('admin-off', 'not-found', 'The admin API is off: CARTAGE_ADMIN_TOKEN is not set'),

  // limits
  rateLimited: (retryAfterSeconds: number) =>
    raise(
      'rate-limited',
      'limited',
      'You are over the limits: too many requests. Wait a moment before the next one.',
      { context: 'limit', detail: 'rate-limit', retryAfterSeconds },
    ),
  wrongTokensLimited: (retryAfterSeconds: number) =>
    raise(
      'wrong-tokens-limited',
      'limited',
      'Too many requests with a wrong token came from your address. Check the token and wait a moment.',
      { context: 'limit', detail: 'rate-limit', retryAfterSeconds },
    ),

  // accounts
  userUnknown: (name: string) =>
    raise('user-unknown', 'not-found', `Sorry, we can't find the user '${name}'`),
  accountNotFound: (kind: string, name: string) =>
    raise('account-not-found', 'not-found', `${kind} '${name}' not found`),
  accountTaken: (name: string) => raise('account-taken', 'conflict', `The name '${name}' is already taken`),
  accountInvalid: (text: string) => raise('account-invalid', 'unprocessable', text),
  /** `reason`: the operator's text, for callers with a key of the account. */
  accountSuspended: (reason = '') =>
    raise('account-suspended', 'forbidden', `This account is suspended${reason ? `: ${reason}` : ''}`),
  accountMoving: () =>
    raise(
      'account-moving',
      'unavailable',
      'This account is moving to another database host: try again later',
      {
        retryAfterSeconds: 5,
      },
    ),
  accountBusy: (name: string) =>
    raise('account-busy', 'conflict', `The account '${name}' is being created, moved or deleted`),
  planNotFound: (name: string) => raise('plan-not-found', 'not-found', `Plan '${name}' not found`),
  planTaken: (name: string) => raise('plan-taken', 'conflict', `There is a plan '${name}' already`),
  planInUse: (name: string, users: readonly string[]) =>
    raise('plan-in-use', 'conflict', `The plan '${name}' is in use by ${users.join(', ')}`),
  moveUnknown: (id: string) => raise('move-unknown', 'not-found', `There is no move ${id}`),
  restoreUnknown: (id: string) => raise('restore-unknown', 'not-found', `There is no restore ${id}`),
  backupUnknown: (file: string) => raise('backup-unknown', 'not-found', `There is no backup '${file}'`),
  backupsOff: () =>
    raise('backups-off', 'not-found', 'The service sees no backups: set CARTAGE_BACKUP_DIR to their folder'),
  restoreRefused: (text: string) => raise('restore-refused', 'conflict', text),
  moveDecided: (text: string) => raise('move-decided', 'conflict', text),
  moveFailed: (text: string, cause?: unknown) => raise('move-failed', 'conflict', text, { cause }),
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

  // keys
  keyNotFound: (name: string) => raise('key-not-found', 'not-found', `API key not found: ${name}`),
  keyInvalid: (faults: readonly string[]) =>
    raise('key-invalid', 'unprocessable', `Validation failed: ${faults.join(', ')}`),
  keyQuotaReached: () =>
    raise('key-quota-reached', 'forbidden', 'You have reached the limit of API keys for your plan'),
  invitationUnknown: () =>
    raise(
      'invitation-unknown',
      'not-found',
      'This invitation is no longer valid: it was used, replaced or withdrawn, or it has expired. Ask for a new one',
    ),
  memberNotFound: (username: string, organization: string) =>
    raise(
      'member-not-found',
      'not-found',
      `User '${username}' not found in the organization '${organization}'`,
    ),
  tablesBusy: (cause: unknown) =>
    raise('tables-busy', 'unavailable', 'A running statement locks the tables of this key, try again later', {
      retryAfterSeconds: 1,
      cause,
    }),

  // the installation
  installationMissing: (namespace: string) =>
    raise(
      'installation-missing',
      'not-found',
      `There is no installation '${namespace}' in this PostgreSQL: check CARTAGE_DATABASE_URL and CARTAGE_NAMESPACE, or make a new one with cartage serve`,
    ),
  migrationAltered: (name: string) =>
    raise(
      'migration-altered',
      'conflict',
      `The migration ${name} has changed since it was applied to this database: use the version of Cartage that applied it, or restore a backup`,
    ),
  madeBeforeRelease: () =>
    raise(
      'made-before-release',
      'conflict',
      'This installation was made by a version of Cartage before 0.1.0, the first release, and cannot be upgraded: export its tables with that version, then import them into a new installation',
    ),
  secretWrong: (text: string) => raise('secret-wrong', 'conflict', text),
  hostInvalid: (text: string) => raise('host-invalid', 'unprocessable', text),
  hostBusy: () =>
    raise(
      'host-busy',
      'conflict',
      'Another host is being added, changed or removed: try again when that is done',
    ),

  // the database
  database: (kind: ErrorKind, message: string, extras: ErrorExtras) =>
    raise('database', kind, message, extras),
  databaseUnavailable: (cause?: unknown) =>
    raise('database-unavailable', 'unavailable', 'The database is not reachable at the moment', {
      retryAfterSeconds: 2,
      cause,
    }),
  passwordNotShown: (way: string) =>
    raise(
      'password-not-shown',
      'unavailable',
      `The database server asked for the password ${way}, which was refused: set scram-sha-256 in its pg_hba.conf`,
    ),
  notSuperuser: (cause: unknown) =>
    raise(
      'not-superuser',
      'unavailable',
      'The administrative role is not a superuser, which managed PostgreSQL rarely gives: check CARTAGE_DATABASE_URL, or the address of the host',
      { cause },
    ),
  controlRightsMissing: (act: string, cause: unknown) =>
    raise(
      'control-rights-missing',
      'unavailable',
      `The login of CARTAGE_DATABASE_URL is not a superuser, and may not ${act}: see Managed PostgreSQL in docs/high-availability.md`,
      { cause },
    ),
  postgresTooOld: (major: number, oldest: number) =>
    raise(
      'postgres-too-old',
      'unavailable',
      `PostgreSQL ${major} is too old: Cartage needs version ${oldest} or later`,
    ),
  /** `most`: of the account, if it has them all. */
  connectionsExhausted: (waitedMs: number, most?: number, limit?: HeldLimit) =>
    raise(
      'connections-exhausted',
      'unavailable',
      `No database connection became free within ${waitedMs} ms${most === undefined ? '' : `: the account uses all ${most} that it may have`}`,
      { retryAfterSeconds: 1, accountLimit: limit },
    ),
  shuttingDown: () =>
    raise('shutting-down', 'unavailable', 'The service is shutting down', { retryAfterSeconds: 1 }),
  lockNotAllowed: (act: string, what: string) =>
    raise(
      'lock-not-allowed',
      'forbidden',
      `The statement was ended: it ${act} a lock on ${what}, which others need`,
    ),
  settingsTooLarge: () =>
    raise(
      'settings-too-large',
      'forbidden',
      'The statement was ended: the settings and password of a role may have at most 16 KB, because all accounts share their catalog. They were reset',
    ),
  rolePaused: (retryAfterSeconds: number) =>
    raise(
      'role-paused',
      'unavailable',
      'This key wrote too much into a catalog that all accounts share: it is paused for a minute',
      { retryAfterSeconds },
    ),
  statementTimeout: (limit: string) =>
    raise(
      'statement-timeout',
      'limited',
      `You are over platform's limits: SQL query timeout error. Refactor your query before running again or contact the operator for more details. The limit: ${limit}`,
      {
        context: 'limit',
        detail: 'datasource',
        body: { limit },
      },
    ),

  statementCancelled: (
    cause: unknown,
    by = 'by the owner of the account or by the operator (pg_cancel_backend)',
    extras: ErrorExtras = {},
  ) => raise('statement-cancelled', 'conflict', `The statement was cancelled ${by}`, { ...extras, cause }),

  // activity
  activityNotFound: (id: string) =>
    raise('activity-not-found', 'not-found', `Nothing runs with the id ${id}: it may have ended`),
  activityNotAnswered: () =>
    raise(
      'activity-not-answered',
      'unavailable',
      'The process of this statement did not answer: it has ended or is cut off, and it is not known whether the statement was stopped',
      { retryAfterSeconds: 5 },
    ),

  // batch jobs
  jobInvalid: (text: string) => raise('job-invalid', 'invalid', text),
  jobNotFound: (id: string) => raise('job-not-found', 'not-found', `Job with id ${id} not found`),
  jobQueueFull: (limit: number) =>
    raise('job-queue-full', 'invalid', `Failed to create job. Max number of jobs (${limit}) queued reached`, {
      retryAfterSeconds: 5,
    }),
  scheduleInvalid: (text: string) => raise('schedule-invalid', 'invalid', text),
  scheduleNotFound: (name: string) => raise('schedule-not-found', 'not-found', `Schedule not found: ${name}`),
  scheduleRunning: (name: string) =>
    raise('schedule-running', 'conflict', `A job of the schedule ${name} has not ended`),
  scheduleTaken: (name: string) => raise('schedule-taken', 'conflict', `There is a schedule ${name} already`),
  tooManySchedules: (most: number) =>
    raise(
      'too-many-schedules',
      'conflict',
      `You are over the limits: an account has at most ${most} schedules`,
    ),
  tooManyFollowers: (what: string) =>
    raise('too-many-followers', 'limited', `You are over the limits: ${what}`, {
      context: 'limit',
      detail: 'followers',
      retryAfterSeconds: 5,
    }),
  jobNotPending: (text: string) => raise('job-not-pending', 'invalid', text),
  /** Old clients read `error`, the specification has `errors`. */
  cancelRefused: (status: string) =>
    raise('cancel-refused', 'invalid', `Cannot set status from ${status} to cancelled`, {
      body: { errors: [`The job status is ${status}, cancel is not allowed`] },
    }),
  statementNotStopped: () =>
    raise('statement-not-stopped', 'unavailable', 'The statement of the job could not be stopped in time', {
      retryAfterSeconds: 5,
    }),
  idempotencyKeyReused: () =>
    raise(
      'idempotency-key-reused',
      'unprocessable',
      'This Idempotency-Key was used before with another request',
    ),

  // imports
  importInvalid: (text: string) => raise('import-invalid', 'invalid', text),
  importNotFound: (id: string) => raise('import-not-found', 'not-found', `Import with id ${id} not found`),
  importFinished: (state: string) =>
    raise('import-finished', 'invalid', `The import is ${state}: it cannot be cancelled`),
  importTooLarge: (maxBytes: number) =>
    raise('import-too-large', 'too-large', `The file is larger than ${maxBytes} bytes`),
  importSlotsUsed: (slots: number) =>
    raise(
      'import-slots-used',
      'limited',
      `We're sorry but you're already using your allowed ${slots} import slots`,
      { context: 'limit', detail: 'imports', retryAfterSeconds: 5 },
    ),
  importsDisabled: (what: string) => raise('imports-disabled', 'invalid', `${what} disabled on this server`),

  // resumable uploads
  uploadNotFound: () => raise('upload-not-found', 'not-found', 'The upload does not exist, or has expired'),
  uploadOffsetWrong: (received: number) =>
    raise(
      'upload-offset-wrong',
      'conflict',
      `The upload has ${received} bytes: Upload-Offset must be ${received}`,
    ),
  uploadLocked: () =>
    raise('upload-locked', 'locked', 'Another request is writing to this upload', { retryAfterSeconds: 1 }),
  uploadOverQuota: (length: number, left: number) =>
    raise(
      'upload-over-quota',
      'too-large',
      `The file has ${length} bytes, and the quota leaves ${left} for uploads`,
    ),
  tooManyUploads: (most: number) =>
    raise('too-many-uploads', 'limited', `You are over the limits: ${most} uploads are not finished`, {
      context: 'limit',
      detail: 'uploads',
      retryAfterSeconds: 60,
    }),
  uploadVersion: () =>
    raise(
      'upload-version',
      'precondition',
      'The header Tus-Resumable must be 1.0.0, the only version of tus that is supported',
    ),
  uploadChecksumWrong: () =>
    raise('upload-checksum-wrong', 'checksum', 'The bytes do not match Upload-Checksum: nothing was stored'),
  uploadOutcomeUnknown: () =>
    raise(
      'upload-outcome-unknown',
      'conflict',
      'The service stopped while it stored the rows of this upload: check whether they are there before you send the file again',
    ),
  uploadNotLoaded: () =>
    raise(
      'upload-not-loaded',
      'unavailable',
      'The service stopped while it stored the rows of this upload, and nothing was stored: send the last bytes again',
    ),
  uploadStored: () =>
    raise(
      'upload-stored',
      'conflict',
      'The rows of this upload were stored before their load could be stopped',
    ),
  uploadElsewhere: () =>
    raise(
      'upload-elsewhere',
      'unavailable',
      'The bytes of this upload are on another machine of the service. Send the request again: it must reach that machine',
      {
        retryAfterSeconds: 1,
      },
    ),

  // links
  exportNotFound: () =>
    raise(
      'export-not-found',
      'not-found',
      'The link does not exist, has expired, was withdrawn or is used up',
    ),

  // copy
  copyRefused: (text: string, position?: number) => raise('copy-refused', 'invalid', text, { position }),
  parserUnavailable: () =>
    raise('parser-unavailable', 'unavailable', 'The SQL parser is not ready yet: try again', {
      retryAfterSeconds: 1,
    }),
  copyTooLarge: (maxSize: string) =>
    raise('copy-too-large', 'invalid', `COPY FROM maximum POST size of ${maxSize} exceeded`),
  uniqueIndexMissing: (statement: string) =>
    raise('unique-index-missing', 'invalid', `on_conflict needs a unique index on its key: ${statement}`, {
      hint: `Run: ${statement}`,
    }),
  quotaExceeded: (cause?: unknown) => raise('quota-exceeded', 'invalid', 'DB Quota exceeded', { cause }),
  noRowsCopied: () => raise('no-rows-copied', 'invalid', 'No rows copied'),
  badCompression: (act: string, cause: Error) =>
    raise('bad-compression', 'invalid', `Error while ${act}: ${cause.message}`, { cause }),
  bodyIncomplete: () => raise('body-incomplete', 'invalid', 'The request body ended too early'),
  clientIdle: (idleMs: number) =>
    raise('client-idle', 'slow', `The client sent nothing for ${idleMs / 1000} seconds`),
  tooManyCopies: (retryAfterSeconds: number) =>
    raise('too-many-copies', 'limited', 'You are over the limits: too many copies at once', {
      context: 'limit',
      detail: 'copies',
      retryAfterSeconds,
    }),
  copyOutcomeUnknown: (cause: unknown) =>
    raise(
      'copy-outcome-unknown',
      'unavailable',
      'The database connection was lost while the copy was being stored, or no replica confirmed it: check whether the rows are there before you send them again',
      { cause },
    ),

  // the SQL endpoint
  statementOutcomeUnknown: (cause: unknown) =>
    raise(
      'statement-outcome-unknown',
      'unavailable',
      'The database connection was lost while the statement ran, or no replica confirmed its commit: if it writes, check whether it was applied before you send it again',
      { cause },
    ),
  statementNotAllowed: () =>
    raise(
      'statement-not-allowed',
      'forbidden',
      'Without an API key only SELECT, VALUES, TABLE, WITH, INSERT, UPDATE, DELETE, MERGE, EXPLAIN of these, SHOW, cursors and transactions can be run, but not XMLTABLE',
      { hint: 'Send the key as api_key, or with Basic authentication' },
    ),
  transactionOpen: () =>
    raise(
      'transaction-open',
      'invalid',
      'The text leaves a transaction open: that transaction was rolled back, and nothing of it is stored',
      {
        hint: 'Send BEGIN and COMMIT in the same text',
      },
    ),
  conversionFailed: (format: string, text: string) =>
    raise('conversion-failed', 'invalid', `The rows cannot be written as ${format}: ${text}`),
  valueUnfit: (format: string, what: string) =>
    raise('value-unfit', 'invalid', `The format ${format} cannot hold ${what}`),
  copyElsewhere: () =>
    raise('copy-elsewhere', 'invalid', 'COPY is not possible here', {
      hint: 'Use the endpoints /api/v2/sql/copyfrom and /api/v2/sql/copyto',
    }),
  paramsInvalid: (text: string) => raise('params-invalid', 'invalid', text),
  paramsTooLarge: (maxLength: number) =>
    raise('params-too-large', 'too-large', `params is longer than ${maxLength} characters`, {
      hint: 'Only q may be longer. Load large data with the endpoint /api/v2/sql/copyfrom',
    }),
  rowTooLarge: (maxBytes: number) =>
    raise('row-too-large', 'invalid', `A row of the answer is larger than ${maxBytes} bytes`, {
      hint: 'Get large values with the endpoint /api/v2/sql/copyto, which has no such limit',
    }),
  clientLeft: () => raise('client-left', 'invalid', 'The client left before the answer was complete'),
  clientEncodingFixed: () =>
    raise('client-encoding-fixed', 'invalid', 'client_encoding must stay UTF8: answers are always UTF-8'),

  // maps
  mapInvalid: (text: string) => raise('map-invalid', 'invalid', text),
  dataviewInvalid: (text: string) => raise('dataview-invalid', 'invalid', text),
  templateForbidden: () => raise('template-forbidden', 'forbidden', 'Unauthorized template instantiation'),
  tooManyTemplates: (username: string, most: number) =>
    raise(
      'too-many-templates',
      'conflict',
      `User '${username}' reached limit on number of templates (${most}/${most})`,
    ),
  stylesBusy: (retryAfterSeconds: number) =>
    raise('styles-busy', 'limited', 'You are over the limits: too many styles are being checked at once', {
      context: 'limit',
      detail: 'busy',
      retryAfterSeconds,
    }),
  mapUnknown: (id: string) =>
    raise('map-unknown', 'invalid', `Invalid or nonexistent map configuration token '${id}'`),

  // saved queries
  queryInvalid: (text: string) => raise('query-invalid', 'invalid', text),
  queryValueInvalid: (text: string) => raise('query-value-invalid', 'invalid', text),
  queryNotFound: (name: string, username: string) =>
    raise('query-not-found', 'not-found', `Query '${name}' of user '${username}' not found`),
  tooManyQueries: (most: string) =>
    raise('too-many-queries', 'conflict', `A user has at most ${most} saved queries: delete some`),

  // dashboards
  dashboardInvalid: (text: string) => raise('dashboard-invalid', 'invalid', text),
  dashboardNotFound: (name: string, username: string) =>
    raise('dashboard-not-found', 'not-found', `Dashboard '${name}' of user '${username}' not found`),
  dashboardChanged: (name: string) =>
    raise(
      'dashboard-changed',
      'precondition',
      `Dashboard '${name}' was changed, made or deleted since you read it. Nothing was saved or deleted`,
      {
        hint: 'Read it again and send its ETag as If-Match. Without If-Match and If-None-Match it is replaced or deleted',
      },
    ),
  tooManyDashboards: (most: number) =>
    raise('too-many-dashboards', 'conflict', `A user has at most ${most} dashboards: delete some`),

  // webhooks
  webhookInvalid: (text: string) => raise('webhook-invalid', 'invalid', text),
  webhooksDisabled: () =>
    raise('webhooks-disabled', 'invalid', 'Webhooks are disabled on this server', {
      hint: 'The operator allows them with CARTAGE_WEBHOOKS',
    }),
  webhookNotFound: () => raise('webhook-not-found', 'not-found', 'Webhook not found'),
  deliveryNotFound: () => raise('delivery-not-found', 'not-found', 'Delivery not found'),
  tooManyWebhooks: (most: number) =>
    raise('too-many-webhooks', 'conflict', `A user has at most ${most} webhooks: delete some`),
  tooManyTestMessages: (most: number) =>
    raise(
      'too-many-test-messages',
      'conflict',
      `${most} test messages of this webhook are waiting: send another later`,
    ),

  // tiles
  /** `most`: of the account, if they are all being made. */
  tilesBusy: (retryAfterSeconds: number, most?: number, isAtOwnLimit = false) =>
    raise(
      'tiles-busy',
      'limited',
      `You are over the limits: too many tiles are being made at once${most === undefined ? '' : ` (${most} for the account)`}`,
      {
        context: 'limit',
        detail: 'busy',
        retryAfterSeconds,
        accountLimit: isAtOwnLimit ? 'tiles_at_once' : undefined,
      },
    ),
  tileTooLarge: (maxBytes: number) =>
    raise('tile-too-large', 'limited', `The tile is larger than ${maxBytes} bytes`, {
      context: 'limit',
      detail: 'size',
      hint: 'Ask for fewer columns (columns=a,b) or fewer features (limit=1000). In a map of SQL, select fewer',
    }),

  // sessions
  sessionLost: (reason: string, cause?: unknown) =>
    raise('session-lost', 'conflict', `The session has ended: ${reason}`, {
      detail: 'An open transaction was rolled back',
      cause,
    }),
  sessionBusy: () =>
    raise('session-busy', 'conflict', 'A statement is still running in this session', {
      hint: 'Wait for its answer, or cancel it',
    }),
  tooManySessions: (most: number, holder: string) =>
    raise('too-many-sessions', 'limited', `You are over the limits: ${most} sessions of ${holder} are open`, {
      context: 'limit',
      detail: 'sessions',
      retryAfterSeconds: 5,
    }),
  listenRefused: () =>
    raise('listen-refused', 'invalid', 'LISTEN is not possible here: notifications are not delivered'),
  settingFixed: (name: string, value: string) =>
    raise('setting-fixed', 'invalid', `${name} must stay ${value} in a session`),
} satisfies Record<string, (...args: never[]) => AppError>

type RaisedCode = ReturnType<(typeof errors)[keyof typeof errors]>['code']
type None<Codes extends never> = Codes
/** Does not compile while the contract has a code that no error here has. */
export type CodesWithoutError = None<Exclude<ErrorCode, RaisedCode>>
