import {
  basemaps,
  count,
  databaseAddress,
  days,
  flag,
  mapStyle,
  milliseconds,
  name,
  networks,
  oneOf,
  origins,
  path,
  rate,
  syslogAddress,
  targets,
  text,
  webAddress,
  whole,
} from './config-variables.ts'

/** Variables of the command line for people; profiles come after them. */
const userVariables = {
  clientUrl: webAddress('CARTAGE_URL', '', 'for the command line: address of the service'),
  clientUser: text('CARTAGE_USER', '', 'for the command line: the user'),
  clientKey: text('CARTAGE_API_KEY', '', 'for the command line: token of the key to use'),
  clientProfile: text('CARTAGE_PROFILE', '', 'for the command line: which profile to use'),
} as const

const dayMs = 86_400_000

/** For data held as one string: V8 strings must be shorter than 512 MiB. */
const longestTextBytes = 500 * 1024 ** 2

/** All variables of Cartage. docs/configuration.md has the same list; a test compares them. */
export const variables = {
  host: text('CARTAGE_HOST', '127.0.0.1', 'address to listen on'),
  port: whole('CARTAGE_PORT', 8080, 'port to listen on; 0 picks a free one', 0, 65535),
  publicUrl: webAddress('CARTAGE_PUBLIC_URL', '', 'base address that clients see, if a proxy is in front'),
  dataDir: path('CARTAGE_DATA_DIR', './data', 'embedded cluster and generated secrets'),
  databaseUrl: databaseAddress(
    'CARTAGE_DATABASE_URL',
    '',
    'administrative connection to an existing PostgreSQL, also with several servers (`a:5432,b:5432`); empty: embedded',
  ),
  secret: text('CARTAGE_SECRET', '', 'server secret, 32 characters or more; generated when embedded'),
  newSecret: text('CARTAGE_NEW_SECRET', '', 'the secret that `cartage secret rotate` changes to'),
  adminToken: text(
    'CARTAGE_ADMIN_TOKEN',
    '',
    'bearer token of /admin/v1, 24 characters or more; generated when embedded',
  ),
  namespace: name('CARTAGE_NAMESPACE', 'cartage', 'control database, and prefix of every database and role'),
  demoUser: flag('CARTAGE_DEMO_USER', 'on', 'create the user `demo` on the first embedded start'),
  logLevel: oneOf('CARTAGE_LOG_LEVEL', 'info', 'lowest level that is logged', [
    'silent',
    'fatal',
    'error',
    'warn',
    'info',
    'debug',
    'trace',
  ]),
  logFormat: oneOf('CARTAGE_LOG_FORMAT', 'auto', 'auto: text on a terminal, JSON lines otherwise', [
    'auto',
    'json',
    'text',
  ]),

  trustedProxies: networks(
    'CARTAGE_TRUSTED_PROXIES',
    '',
    'comma list of addresses or networks whose X-Forwarded-For is trusted',
  ),
  auditRetentionDays: days(
    'CARTAGE_AUDIT_RETENTION_DAYS',
    365,
    'how long audit records are kept; at least 31',
    31,
  ),

  auditFile: text(
    'CARTAGE_AUDIT_FILE',
    '',
    'file to which audit records are written as lines of JSON, for shipping; empty: none',
  ),
  auditSyslog: syslogAddress(
    'CARTAGE_AUDIT_SYSLOG',
    'syslog server to which audit records are sent: udp://HOST:514, tcp://HOST:514 or unix:///dev/log; empty: none',
  ),

  worker: flag('CARTAGE_WORKER', 'on', 'run batch jobs inside `cartage serve`'),
  shutdownGraceMs: whole(
    'CARTAGE_SHUTDOWN_GRACE_MS',
    10_000,
    'time for running work to end after SIGTERM',
    0,
    dayMs,
  ),
  shutdownDelayMs: whole(
    'CARTAGE_SHUTDOWN_DELAY_MS',
    0,
    'how long the API still serves after SIGTERM while /health/ready answers 503; longer than a load balancer needs to notice',
    0,
    dayMs,
  ),
  workerPort: whole(
    'CARTAGE_WORKER_PORT',
    0,
    'port of /health and /metrics in `cartage worker`; 0 opens none',
    0,
    65535,
  ),
  requestTimeoutMs: milliseconds(
    'CARTAGE_REQUEST_TIMEOUT_MS',
    30_000,
    'time for a client to send its headers and a small body',
    100,
  ),

  bodyMemoryBytes: whole(
    'CARTAGE_BODY_MEMORY_BYTES',
    256 * 1024 ** 2,
    'bytes of request bodies that one process holds, without those of copies; beyond it 503',
    1024 ** 2,
  ),

  connectionsPerHost: count(
    'CARTAGE_CONNECTIONS_PER_HOST',
    40,
    'SQL connections of one process to one database host',
    1,
  ),
  connectionsPerRole: count(
    'CARTAGE_CONNECTIONS_PER_ROLE',
    8,
    'SQL connections of one process as one role',
    1,
  ),
  connectionsPerAccount: count(
    'CARTAGE_CONNECTIONS_PER_ACCOUNT',
    16,
    'SQL connections of one process for all keys of one user',
    1,
  ),
  anonymousConnections: count(
    'CARTAGE_ANONYMOUS_CONNECTIONS',
    4,
    'how many of these connections callers without a key may take',
    1,
  ),
  connectionIdleMs: milliseconds(
    'CARTAGE_CONNECTION_IDLE_MS',
    30_000,
    'an idle connection is closed after this time',
    0,
  ),
  connectionWaitMs: milliseconds(
    'CARTAGE_CONNECTION_WAIT_MS',
    5_000,
    'longest wait for a free connection, then 503',
    0,
  ),

  replicaMaxLagMs: whole(
    'CARTAGE_REPLICA_MAX_LAG_MS',
    10_000,
    'if the data of a replica may be older than this, the primary answers',
    0,
    3_600_000,
  ),

  autovacuumTableMs: milliseconds(
    'CARTAGE_AUTOVACUUM_TABLE_MS',
    30_000,
    'how long autovacuum may work on a table of a tenant, plus a second for each 4 MB of it',
    1_000,
  ),

  tempFileMaxBytes: whole(
    'CARTAGE_TEMP_FILE_MAX_BYTES',
    4 * 1024 ** 3,
    'temporary files of one session of a tenant',
    1024 ** 2,
    // PostgreSQL counts them in KB.
    1024 * (2 ** 31 - 1),
  ),

  queryTimeoutMs: milliseconds(
    'CARTAGE_QUERY_TIMEOUT_MS',
    25_000,
    'longest time until the first row on the SQL endpoint, and longest time without a row while PostgreSQL works',
    1,
  ),
  queryMaxBodyBytes: whole(
    'CARTAGE_QUERY_MAX_BODY_BYTES',
    16 * 1024 ** 2,
    'largest body of the SQL endpoint',
    1,
    longestTextBytes,
  ),
  queryMaxRowBytes: whole(
    'CARTAGE_QUERY_MAX_ROW_BYTES',
    32 * 1024 ** 2,
    'largest row of an answer of the SQL endpoint; each connection may need this much memory',
    1024 ** 2,
    longestTextBytes,
  ),

  sessionsPerKey: count('CARTAGE_SESSIONS_PER_KEY', 2, 'sessions of one key at once in one process', 0),
  sessionsPerAccount: count(
    'CARTAGE_SESSIONS_PER_ACCOUNT',
    8,
    'sessions of one user at once in one process',
    0,
  ),
  sessionConnectionsPerHost: count(
    'CARTAGE_SESSION_CONNECTIONS_PER_HOST',
    20,
    'connections of sessions of one process to one database host',
    1,
  ),
  sessionIdleMs: milliseconds(
    'CARTAGE_SESSION_IDLE_MS',
    60_000,
    'a session without a statement ends after this time',
    100,
  ),
  sessionTransactionIdleMs: milliseconds(
    'CARTAGE_SESSION_TRANSACTION_IDLE_MS',
    15_000,
    'a session inside a transaction ends after this time without a statement',
    100,
  ),
  sessionMaxMs: milliseconds('CARTAGE_SESSION_MAX_MS', 3_600_000, 'longest session', 100),
  sessionPingMs: milliseconds(
    'CARTAGE_SESSION_PING_MS',
    15_000,
    'how often the client of a session is pinged; a client that does not answer before the next ping is disconnected',
    100,
  ),

  mapBasemaps: basemaps(
    'CARTAGE_MAP_BASEMAPS',
    'raster tiles that maps may use, as `ADDRESS ATTRIBUTION`, several separated by `;`',
  ),
  mapStyle: mapStyle(
    'CARTAGE_MAP_STYLE',
    'address of the [MapLibre style](maps.md#a-style-of-your-own) below all maps, or of a light and a dark one; empty: countries that are built in',
  ),
  mapStyleOrigins: origins(
    'CARTAGE_MAP_STYLE_ORIGINS',
    'other origins from which this style loads tiles, fonts and pictures',
  ),

  rateLimitKeys: rate('CARTAGE_RATE_LIMIT_KEYS', 'requests of one user to the API-key endpoints'),
  rateLimitJobs: rate('CARTAGE_RATE_LIMIT_JOBS', 'requests of one user that create, change or cancel jobs'),
  rateLimitJobsRead: rate('CARTAGE_RATE_LIMIT_JOBS_READ', 'requests of one user that read jobs'),
  rateLimitCopyfrom: rate('CARTAGE_RATE_LIMIT_COPYFROM', 'requests of one user to copyfrom'),
  rateLimitCopyto: rate('CARTAGE_RATE_LIMIT_COPYTO', 'requests of one user to copyto'),
  rateLimitSql: rate('CARTAGE_RATE_LIMIT_SQL', 'requests of one user to the SQL endpoint'),
  rateLimitImports: rate('CARTAGE_RATE_LIMIT_IMPORTS', 'requests of one user that begin or cancel imports'),
  rateLimitTables: rate(
    'CARTAGE_RATE_LIMIT_TABLES',
    'requests of one user to viz, datasets, usage, activity, history and me',
  ),
  rateLimitTile: rate('CARTAGE_RATE_LIMIT_TILE', 'requests of one user for vector tiles'),
  rateLimitMap: rate('CARTAGE_RATE_LIMIT_MAP', 'requests of one user that instantiate maps'),
  rateLimitNamed: rate('CARTAGE_RATE_LIMIT_NAMED', 'requests of one user that manage named maps'),
  rateLimitDataview: rate('CARTAGE_RATE_LIMIT_DATAVIEW', 'requests of one user for dataviews and attributes'),
  rateLimitWrongTokens: rate(
    'CARTAGE_RATE_LIMIT_WRONG_TOKENS',
    'wrong tokens from one address (IPv6: from its /64), per process',
    '100/60',
  ),

  apiKeyQuota: count('CARTAGE_API_KEY_QUOTA', 0, 'regular keys of one user; 0 is unlimited', 0),

  jobTimeoutMs: milliseconds('CARTAGE_JOB_TIMEOUT_MS', 12 * 3_600_000, 'longest statement of a job', 1),
  jobQueueLimit: count('CARTAGE_JOB_QUEUE_LIMIT', 64, 'pending jobs of one user', 1),
  jobsPerUser: count('CARTAGE_JOBS_PER_USER', 1, 'running jobs of one user', 1),
  jobsPerHost: count('CARTAGE_JOBS_PER_HOST', 16, 'running jobs on one database host', 1),
  jobsPerWorker: count('CARTAGE_JOBS_PER_WORKER', 8, 'running jobs of one process', 1),
  jobConnectionsPerHost: count(
    'CARTAGE_JOB_CONNECTIONS_PER_HOST',
    24,
    'job connections of one process to one database host, idle ones included',
    1,
  ),
  jobRetentionDays: days('CARTAGE_JOB_RETENTION_DAYS', 30, 'how long finished jobs are kept', 1),

  historyDays: days(
    'CARTAGE_HISTORY_DAYS',
    90,
    'how long the statements that people ran in the console are kept, at most 500 of a key; 0 keeps none',
    0,
  ),

  copyTimeoutMs: milliseconds(
    'CARTAGE_COPY_TIMEOUT_MS',
    5 * 3_600_000,
    'longest copy, and longest answer of the SQL endpoint',
    1,
  ),
  copyMaxBytes: whole('CARTAGE_COPY_MAX_BYTES', 2 * 1024 ** 3, 'largest body of one copyfrom, as sent', 1),
  copyIdleMs: milliseconds(
    'CARTAGE_COPY_IDLE_MS',
    60_000,
    'a client that sends or reads nothing for this time is disconnected, in a copy or an answer of the SQL endpoint',
    1,
  ),
  copiesPerUser: count('CARTAGE_COPIES_PER_USER', 8, 'copies of one user at once in one process', 1),
  copiesPerProcess: count('CARTAGE_COPIES_PER_PROCESS', 16, 'copies at once in one process', 1),
  anonymousCopies: count(
    'CARTAGE_ANONYMOUS_COPIES',
    2,
    'how many copies of a user callers without a key may take',
    1,
  ),
  anonymousCopyTimeoutMs: milliseconds(
    'CARTAGE_ANONYMOUS_COPY_TIMEOUT_MS',
    300_000,
    'longest copy, and longest answer of the SQL endpoint, for a caller without a key',
    1,
  ),
  copyWaitMs: milliseconds('CARTAGE_COPY_WAIT_MS', 2_000, 'longest wait for a free copy slot, then 429', 0),

  exportDiskBytes: whole(
    'CARTAGE_EXPORT_DISK_BYTES',
    4 * 1024 ** 3,
    'files on the disk of one process that clients are reading, half of it for one user; beyond it the next file waits',
    0,
  ),

  tileTimeoutMs: milliseconds('CARTAGE_TILE_TIMEOUT_MS', 10_000, 'longest query for a vector tile', 1),
  tileMaxFeatures: count(
    'CARTAGE_TILE_MAX_FEATURES',
    50_000,
    'features of one table in a vector tile; beyond it the tile has the largest shapes, and one point for each cell',
    1,
  ),
  tileMaxBytes: whole(
    'CARTAGE_TILE_MAX_BYTES',
    8 * 1024 ** 2,
    'largest vector tile, before compression',
    1_024,
    longestTextBytes / 4,
  ),
  tilesPerAccount: count(
    'CARTAGE_TILES_PER_ACCOUNT',
    8,
    'queries for tiles of one user at once in one process',
    1,
  ),
  tilesPerHost: count(
    'CARTAGE_TILES_PER_HOST',
    32,
    'queries for tiles of one process on one database host at once',
    1,
  ),
  tileWaitMs: milliseconds(
    'CARTAGE_TILE_WAIT_MS',
    5_000,
    'longest wait of a tile for its turn, then 429; at most 200 tiles wait',
    0,
  ),
  tileCacheBytes: whole(
    'CARTAGE_TILE_CACHE_BYTES',
    128 * 1024 ** 2,
    'vector tiles that one process keeps; 0 keeps none',
    0,
  ),

  backupDir: text(
    'CARTAGE_BACKUP_DIR',
    '',
    'folder with backups, of which the operator restores users by the admin API and in the console; empty: none',
  ),
  importDir: text(
    'CARTAGE_IMPORT_DIR',
    '',
    'folder for the files of running imports; share it between machines, or each machine imports the files that it received; empty: `imports` in the data directory',
  ),
  importSandbox: oneOf(
    'CARTAGE_IMPORT_SANDBOX',
    'auto',
    'auto: GDAL reads files only in a sandbox, bubblewrap or unshare; none: it reads them with the rights of the service',
    ['auto', 'none'],
  ),
  importUrls: flag(
    'CARTAGE_IMPORT_URLS',
    'off',
    'whether the service fetches files from addresses that users name',
  ),
  webhooks: targets(
    'CARTAGE_WEBHOOKS',
    'off',
    'which addresses webhooks may reach: `public` for public addresses on ports 80 and 443, names of hosts, which may be private, with the port if it is another; or both in a comma list; off: none',
  ),
  importMaxBytes: whole(
    'CARTAGE_IMPORT_MAX_BYTES',
    2 * 1024 ** 3,
    'largest file to import, as sent; 0 is unlimited',
    0,
  ),
  importUnpackedBytes: whole(
    'CARTAGE_IMPORT_UNPACKED_BYTES',
    10 * 1024 ** 3,
    'largest content of an archive to import; 0 is unlimited',
    0,
  ),
  importMaxRows: whole('CARTAGE_IMPORT_MAX_ROWS', 0, 'rows of one import; 0 is unlimited', 0),
  importMaxTables: count('CARTAGE_IMPORT_MAX_TABLES', 50, 'tables of one import; 0 is unlimited', 0),
  importSlots: count(
    'CARTAGE_IMPORT_SLOTS',
    3,
    'unfinished imports of one user; more are answered with 429',
    1,
  ),
  uploadsPerUser: count(
    'CARTAGE_UPLOADS_PER_USER',
    10,
    'unfinished resumable uploads of one user; more are answered with 429',
    1,
  ),
  importsPerUser: count('CARTAGE_IMPORTS_PER_USER', 1, 'running imports of one user', 1),
  importsPerWorker: count('CARTAGE_IMPORTS_PER_WORKER', 2, 'running imports of one process', 1),
  importTimeoutMs: milliseconds(
    'CARTAGE_IMPORT_TIMEOUT_MS',
    3_600_000,
    'longest import, and processor time of its converter',
    1_000,
  ),
  importMemoryBytes: whole(
    'CARTAGE_IMPORT_MEMORY_BYTES',
    2 * 1024 ** 3,
    'memory of the program that reads a file; 0 is unlimited',
    0,
  ),

  backupPassphrase: text(
    'CARTAGE_BACKUP_PASSPHRASE',
    '',
    'for `cartage backup` and `restore`: encrypts the secret; 12 characters or more',
  ),
  hostUrl: text('CARTAGE_HOST_URL', '', 'for `cartage host add`: address of the host'),
  ...userVariables,
} as const
