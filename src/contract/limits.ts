/** Limits of requests: the service refuses what is beyond them. */

/** The length of a job as JSON, at the classic address and at the address of version 4. */
export const maxJobCharacters = 16_384
export const maxLongJobCharacters = 1_048_576

/** All statements of a job are in each of its documents, and their states are written at every step. */
export const maxJobItems = 10_000

/** What people know a job by. */
export const maxJobNameLength = 255
export const maxJobLabels = 16
export const jobLabelRule =
  'a word of 1 to 63 letters, digits, dots, hyphens, underscores, slashes, colons or equals signs'
export const maxJobsPerPage = 100
/** The length of a search text for the SQL of jobs, in characters. */
export const maxSearchLength = 200

/** Retries of a job: attempts, the first included, and seconds before the second attempt. */
export const maxJobAttempts = 10
export const defaultBackoffSeconds = 10
export const maxBackoffSeconds = 3_600

/** Schedules of an account: by default, and at most. */
export const defaultSchedules = 100
export const maxSchedules = 1_000

/** A longer wait for the end of a job ends after this. */
export const longestWaitSeconds = 60

/** In characters. */
export const maxKeyNameLength = 255
export const maxKeyDescriptionLength = 1_000
/** How long the link of an invitation is good. */
export const defaultInvitationDays = 7
export const longestInvitationDays = 30
export const maxIdempotencyKeyLength = 255

/** Why an account is suspended, in characters. */
export const maxReasonLength = 500

/** The rule for names of plans. */
export const planNameRule =
  '1 to 63 lower-case letters, digits, hyphens or underscores, and begins with a letter or digit'

/** The rule for names of users and organizations. */
export const accountNameRule = '1 to 63 lower-case letters, digits or hyphens'

/** The page size of a list of keys, tables or datasets. */
export const maxPerPage = 1000
export const defaultPerPage = 20

/** The length of a list of audit records, and of statements, jobs and users in the activity. */
export const maxRecords = 1000
export const defaultAuditRecords = 50
/** Characters of the address of a host or replica. */
export const maxHostUrl = 4_096
export const defaultMoves = 50
export const defaultActivityRecords = 100

/** Values of `$1`, `$2`, ...: as many as the protocol of PostgreSQL can count. */
export const maxParams = 65_535

/** Decimal digits of GeoJSON coordinates. */
export const maxDecimals = 15
export const defaultDecimals = 6

/** Rows that a load with `on_error=skip` may leave out: by default, and at most. */
export const defaultBadRows = 1_000
export const maxBadRows = 1_000_000

/** How long a link to the rows of a query is valid: by default a day, at most a week. */
export const defaultLinkSeconds = 86_400
export const maxLinkSeconds = 604_800
export const maxLinkDownloads = 1_000_000

/** How a statement in the history ended. */
export const historyOutcomes = ['done', 'failed', 'stopped'] as const

/** Of a statement in the history, in characters: the rest is cut off. */
export const maxHistoryText = 20_000
/** Of the history of a key. */
export const maxHistoryEntries = 500
/** Of a text that is looked for, in characters: the search takes as long as it times the texts. */
export const maxHistorySearch = 100
export const maxHistoryPage = 200
export const defaultHistoryPage = 50
/** Of a code of an error, in characters. */
export const maxHistoryCode = 63
/** Of a time in milliseconds, and of a count of rows. */
export const maxHistoryNumber = 1_000_000_000_000_000
