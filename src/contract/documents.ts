import type {
  AccountLimit,
  ActivityKind,
  ActivityWait,
  AuditAction,
  EndpointGroup,
  MovePhase,
  OrgRole,
  RestorePhase,
  SetLimits,
} from './admin-names.ts'
import type { SqlFormat } from './formats.ts'
import type { Api, DataService, SchemaPermission, TablePermission } from './grants.ts'
import type { CheckStatus, HostVerdict, ReadinessStatus, ReplicationRole } from './health-names.ts'
import type { JobStatus, StepStatus } from './job-status.ts'
import type { KeyType, ReadFrom } from './key-names.ts'
import type { historyOutcomes } from './limits.ts'
import type { DatasetMode, DatasetPrivacy, Privacy } from './table-names.ts'
import type { UsageKind, UsagePeriod } from './usage-names.ts'
import type { Notify } from './webhooks.ts'

/** The documents of the HTTP API, as they are on the wire. */

export type KeyDocument = Readonly<{
  name: string
  user: Readonly<{ username: string }>
  type: KeyType
  token: string
  grants: readonly Grant[]
  created_at: string
  updated_at: string
}>

/** A key at the addresses of version 4. */
export type FullKeyDocument = KeyDocument &
  Readonly<{
    description: string
    /** Null: never. */
    expires_at: string | null
    /** Where its reads go, unless a request says otherwise. */
    read_from: ReadFrom
    /** Null: not used yet. Known to within five minutes. */
    last_used_at: string | null
    /** Until then an invitation gives its receiver the key. Null: there is none. */
    invited_until: string | null
  }>
/** The part of `url` after its `#` is the secret. It gives the key once. */
export type InvitationDocument = Readonly<{ invitation: string; url: string; expires_at: string }>
export type FullKeyList = Readonly<{ keys: readonly FullKeyDocument[]; total: number }>
export type NewKey = Readonly<{
  name: string
  grants: readonly Grant[]
  description?: string
  expires_at?: string | null
  read_from?: ReadFrom
}>
export type KeyChanges = Readonly<{
  grants?: readonly Grant[]
  description?: string
  expires_at?: string | null
  read_from?: ReadFrom
}>
/** A key as the operator sees it: without the token. */
export type UserKeyDocument = Omit<FullKeyDocument, 'token'>
export type UserKeyList = Readonly<{ keys: readonly UserKeyDocument[]; total: number }>

export type Grant = ApisGrant | DatabaseGrant | DataServicesGrant
export type ApisGrant = Readonly<{ type: 'apis'; apis: readonly Api[] }>
export type DatabaseGrant = Readonly<{
  type: 'database'
  tables?: readonly Readonly<{
    schema: string
    name: string
    owner?: boolean
    permissions: readonly TablePermission[]
  }>[]
  schemas?: readonly Readonly<{ name: string; permissions: readonly SchemaPermission[] }>[]
  table_metadata?: readonly unknown[]
}>
export type DataServicesGrant = Readonly<{
  type: 'dataservices'
  services: readonly DataService[]
}>

export type KeyList = Readonly<{
  total: number
  count: number
  result: readonly (KeyDocument & Readonly<{ _links: Readonly<{ self: string }> }>)[]
  _links: Readonly<Partial<Record<'first' | 'last' | 'prev' | 'next', Readonly<{ href: string }>>>>
}>

/** What a job is made of: a statement, a chain of them, or a chain with fallbacks. */
export type JobQuery =
  | string
  | readonly (string | NewItem)[]
  | Readonly<{ query: readonly (string | NewItem)[]; onsuccess?: string; onerror?: string }>
type ClassicItem = Readonly<{ query: string; onsuccess?: string; onerror?: string; timeout?: number }>
/** `params`: values of `$1`, `$2`, ..., only at the addresses of version 4. */
export type NewItem = ClassicItem & Readonly<{ params?: readonly unknown[] }>

/** Failures that another attempt may mend: attempts, the first included, and seconds before the second one, then doubled. */
export type JobRetry = Readonly<{ attempts: number; backoff_s?: number }>

export type ItemDocument = ClassicItem &
  Readonly<{
    status: StepStatus
    fallback_status?: StepStatus
    started_at?: string
    ended_at?: string
    failed_reason?: string
    failed_sqlstate?: string
    fallback_failed_reason?: string
  }>

/** At the addresses of version 4. `rows`: of PostgreSQL's command tag. */
export type FullItemDocument = ItemDocument & Readonly<{ params?: readonly unknown[]; rows?: number }>

export type JobDocument = DocumentOfJob<ItemDocument>

type DocumentOfJob<Item> = Readonly<{
  job_id: string
  user: string
  status: JobStatus
  query: string | readonly Item[] | Readonly<{ query: readonly Item[]; onsuccess?: string; onerror?: string }>
  created_at: string
  updated_at: string
  failed_reason?: string
  failed_sqlstate?: string
  fallback_status?: StepStatus
  fallback_failed_reason?: string
}>

/** What may be sent with the query of a job. */
export type JobOptions = Readonly<{
  name?: string | undefined
  labels?: readonly string[] | undefined
  /** Limit for each statement without one of its own, in milliseconds. */
  timeout?: number | undefined
  /** Values of `$1`, `$2`, ... in a query that is one statement. */
  params?: readonly unknown[] | undefined
  /** An ISO time with its zone: the job waits until then. */
  not_before?: string | undefined
  retry?: JobRetry | undefined
  /** Whom to tell of its end. */
  notify?: readonly Notify[] | undefined
}>

/** A job at the addresses of version 4: the classic document with more members. */
export type FullJobDocument = DocumentOfJob<FullItemDocument> &
  Readonly<{
    name?: string
    labels?: readonly string[]
    /** The schedule that made it. */
    schedule?: string
    /** The time limit of a job with one statement; in a chain each statement has its own. */
    timeout?: number
    params?: readonly unknown[]
    rows?: number
    /** When it may run: as it was sent, or after a failure when it is tried again. */
    not_before?: string
    retry?: JobRetry
    /** Since it was first begun. */
    attempts?: number
    started_at?: string
    ended_at?: string
    duration_ms?: number
    /** While pending: unfinished jobs of the user before it, and whether it waits for a slot of the database host. */
    position?: Readonly<{ ahead: number; is_host_busy: boolean }>
    progress?: JobProgressDocument
  }>

/** How far a running job is. What PostgreSQL does not tell is absent. */
export type JobProgressDocument = Readonly<{
  /** The item that runs, from 1, and how many there are. */
  item: number
  items: number
  /** The phase of CREATE INDEX, COPY, VACUUM, ANALYZE and CLUSTER, and how much of it is done. */
  phase?: string
  percent?: number
  /** A lock. `sessions`: those of the account itself that hold it up; empty if others do. */
  waits_for?: Readonly<{
    lock: string
    sessions: readonly Readonly<{ pid: number; state: string | null; query: string; since: string }>[]
  }>
  /** The median of the last five runs of the same statement, less the time it has run. */
  eta_ms?: number
}>

/** What a schedule is made of. */
export type NewSchedule = Readonly<{
  /** Five fields, or a word such as `@daily`. */
  cron: string
  /** A name of the IANA list. By default UTC. */
  timezone?: string | undefined
  query: JobQuery
  params?: readonly unknown[] | undefined
  onsuccess?: string | undefined
  onerror?: string | undefined
  labels?: readonly string[] | undefined
  timeout?: number | undefined
  retry?: JobRetry | undefined
  /** Told of the end of its jobs, and when it is disabled. Without a secret an address keeps the one that it has. */
  notify?: readonly Notify[] | undefined
  enabled?: boolean | undefined
  overlap?: 'skip' | 'queue' | undefined
  catch_up?: 'none' | 'last' | undefined
}>

export type ScheduleDocument = Readonly<{
  name: string
  cron: string
  timezone: string
  query: JobQuery
  params?: readonly unknown[]
  labels?: readonly string[]
  timeout?: number
  retry?: JobRetry
  notify?: readonly Omit<Notify, 'secret'>[]
  enabled: boolean
  overlap: 'skip' | 'queue'
  catch_up: 'none' | 'last'
  /** null: it is disabled. */
  next_run_at: string | null
  disabled_reason?: string
  last_job: string | null
  last_status: JobStatus | null
  runs_ok: number
  runs_failed: number
  created_at: string
  updated_at: string
}>

export type ScheduleList = Readonly<{ schedules: readonly ScheduleDocument[]; limit: number }>

/** A due time with its job, or with the reason why it has none. */
export type ScheduleRunDocument = Readonly<{
  due_at: string
  job_id?: string
  status?: JobStatus
  manual?: boolean
  skipped?: 'overlap' | 'missed' | 'queue-full'
}>

export type ScheduleRuns = Readonly<{ runs: readonly ScheduleRunDocument[] }>

export type JobFilter = Readonly<{
  status?: JobStatus | undefined
  label?: string | undefined
  /** The name of the schedule that made them. */
  schedule?: string | undefined
  /** Created then or later, and before: ISO times. */
  since?: string | undefined
  until?: string | undefined
  /** Part of the SQL, in any case. */
  text?: string | undefined
}>

/** Newest first. `next` is the value of `after` for the next page. */
export type JobList = Readonly<{ jobs: readonly FullJobDocument[]; next: string | null }>

export type SqlAnswer<Row = Record<string, unknown>> = Readonly<{
  rows: readonly Row[]
  time: number
  fields: Readonly<Record<string, Readonly<{ type: string; pgtype?: string }>>>
  total_rows: number
  /** Rows on all pages, if the request has `total`. */
  total?: number
  total_kind?: 'exact' | 'estimate'
  notices?: readonly string[]
  warnings?: readonly string[]
}>

export type CopyAnswer = Readonly<{
  time: number
  total_rows: number
  /** With `on_error=skip`. */
  rejected_rows?: number
  rejected?: readonly RejectedRow[]
  /** With `on_conflict`. */
  inserted_rows?: number
  updated_rows?: number
}>

/** A row that PostgreSQL refused, and the reason. */
export type RejectedRow = Readonly<{
  /** The line of the file in which it ends, counted as COPY does. */
  line: number
  column: string | null
  /** PostgreSQL cuts it at 100 bytes. */
  value: string | null
  error: string
  sqlstate: string
  /** The row as it is in the file. */
  text: string
}>

/** Rejected rows of one table that follow each other in the list, and what makes a file of them. */
export type RejectedSection = Readonly<{
  table: string
  rows: number
  /** For CSV: the header line. Empty if the file has none. */
  header?: string
  /** For other kinds: the columns of the rows, whose text is that of COPY. */
  columns?: readonly string[]
}>

/** A table as the classic "visualization" of it. */
export type TableDocument = Readonly<{
  id: string
  name: string
  display_name: string
  type: 'table'
  kind: string
  privacy: Privacy
  updated_at: string
  title: null
  description: null
  tags: readonly string[]
  locked: boolean
  dependent_visualizations: readonly string[]
  dependent_visualizations_count: number
  url: string
  table: Readonly<{
    id: string
    name: string
    schema: string
    privacy: Privacy
    updated_at: string | null
    size: number | null
    /** Estimated; null if PostgreSQL has not counted them yet. */
    row_count: number | null
  }>
}>

/** A table by the endpoint that tells its rows and geometry. */
export type TableDetails = Readonly<{
  id: string
  name: string
  privacy: Privacy
  schema: string
  updated_at: string
  /** Estimated; null if PostgreSQL has not counted them yet. */
  rows_counted: number | null
  row_count: number | null
  table_size: number
  size: number
  /** Among its first rows, such as `ST_Point`. */
  geometry_types: readonly string[]
  table_visualization: Readonly<{ id: string; name: string }>
}>

export type TableList = Readonly<{
  visualizations: readonly TableDocument[]
  total_entries: number
  total_user_entries: number
  total_likes: number
  total_shared: number
}>

export type DatasetDocument = Readonly<{
  table_schema: string
  name: string
  type: string
  mode: DatasetMode
  cartodbfied: boolean
  shared: boolean
  privacy: DatasetPrivacy
  updated_at: string | null
}>

export type DatasetList = Readonly<{
  total: number
  count: number
  result: readonly DatasetDocument[]
  _links: KeyList['_links']
}>

export type MeDocument = Readonly<{
  username: string
  organization: Readonly<{ name: string }> | null
  /** The one that asks. */
  key: Readonly<{ name: string; type: KeyType }>
  config: Readonly<{ user_name: string }>
  api_endpoints: Readonly<Record<'sql' | 'maps' | 'import' | 'auth', string>>
  user_data: Readonly<{
    id: string
    username: string
    organization: Readonly<{ name: string }> | null
    base_url: string
    quota_in_bytes: number
    db_size_in_bytes: number
    /** Absent: unlimited. */
    remaining_byte_quota?: number
    table_count: number
    /** The largest body of one copyfrom. */
    copy_max_bytes: number
    created_at: string
  }>
}>

export type ListedTiles = Readonly<{
  tiles: readonly Readonly<{
    name: string
    schema: string
    geometry_type: string
    /** The address of its TileJSON. */
    url: string
  }>[]
}>

/** The place of a tile in the pyramid of the web. */
export type TilePlace = Readonly<{ z: number; x: number; y: number }>

/** TileJSON 3.0.0. A JSON object as the comment of the table adds members, or changes them. */
export type TileJson = Readonly<{
  tilejson: '3.0.0'
  name: string
  description: string
  scheme: 'xyz'
  tiles: readonly string[]
  vector_layers: readonly Readonly<{
    id: string
    fields: Readonly<Record<string, string>>
    description: string
  }>[]
  /** West, south, east, north. */
  bounds: readonly number[]
  center: readonly number[]
  minzoom: number
  maxzoom: number
  /** As HTML. */
  attribution?: string
}>

/** TileJSON 2.2.0, as in the answer to an instantiation. */
export type VectorTileJson = Readonly<{
  vector?: Readonly<{ tilejson: '2.2.0'; tiles: readonly string[]; minzoom: number; maxzoom: number }>
}>

/** A map that was instantiated. */
export type LayergroupDocument = Readonly<{
  layergroupid: string
  last_updated: string
  metadata: Readonly<{
    layers: readonly Readonly<{
      type: string
      id: string
      meta: Readonly<Record<string, unknown>>
      tilejson?: VectorTileJson
    }>[]
    dataviews: Readonly<Record<string, unknown>>
    analyses: readonly Readonly<Record<string, unknown>>[]
    tilejson: VectorTileJson
    url: Readonly<Record<string, unknown>>
  }>
  cdn_url: Readonly<{ http: string; https: string }>
}>

/** A template of maps, as it is sent. */
export type NamedMapTemplate = Readonly<{
  version: '0.0.1'
  name: string
  auth?: Readonly<Record<string, unknown>>
  placeholders?: Readonly<Record<string, unknown>>
  layergroup: Readonly<Record<string, unknown>>
  /** See `NamedMapView`. */
  view?: Readonly<Record<string, unknown>> | null
}>

/** What the page of a named map shows, and where it begins. */
export type NamedMapView = Readonly<{
  title?: string
  description?: string
  /** Layers of a MapLibre style. `source`: the id of a layer of the map. */
  style?: readonly Readonly<Record<string, unknown>>[]
  /** `world`, `none` or an address that the operator allows. */
  basemap?: string
  /** Columns by layer of the map. */
  popup?: Readonly<Record<string, readonly string[]>>
  legend?: readonly MapLegendSection[]
  zoom?: number
  center?: Readonly<{ lng: number; lat: number }>
  bounds?: Readonly<{ west: number; south: number; east: number; north: number }>
  preview_layers?: unknown
}>

export type MapLegendSection = Readonly<{
  title?: string | undefined
  items: readonly Readonly<{ label: string; color: string; shape?: 'point' | 'line' | 'area' }>[]
}>

/** The MapLibre style of a named map. */
export type StyleDocument = Readonly<{
  version: 8
  name: string
  /** `cartage`: see `MapPageMetadata`. */
  metadata: Readonly<Record<string, unknown>>
  center: readonly number[]
  zoom: number
  sources: Readonly<Record<string, unknown>>
  layers: readonly Readonly<Record<string, unknown>>[]
}>

/** What a page shows in addition to the map. */
export type MapPageMetadata = Readonly<{
  title: string
  description: string
  basemap: 'world' | 'none' | 'tiles'
  popup: Readonly<Record<string, readonly string[]>>
  legend: readonly MapLegendSection[]
  /** West, south, east, north. */
  bounds?: readonly number[]
}>

/** `runs_as`: the name of the key that made it. */
export type NamedMapDocument = Readonly<{ template: NamedMapTemplate; runs_as: string }>

/** What a person should know of an import. */
export type ImportWarnings = Readonly<{
  renamed?: readonly string[]
  columns_as_text?: readonly string[]
  encoding?: string
  srid_assumed?: number
  skipped_files?: readonly string[]
  /** With `skip`: tables that were there, where others of the file were not. */
  skipped_tables?: readonly string[]
  empty?: readonly string[]
  missing_columns?: readonly string[]
  /** Tables with rings that the file leaves open. */
  closed_rings?: readonly string[]
  /** Columns with nanoseconds, of which PostgreSQL keeps microseconds. */
  rounded_times?: readonly string[]
  /** Columns with numbers of more than 15 digits, of which GDAL keeps 15. */
  rounded_numbers?: readonly string[]
  /** Tables of GeoJSON whose features have numbers as `id`, beside their properties: they are left out. */
  feature_ids?: readonly string[]
}>

/** A file that became tables, or becomes. */
export type ImportDocument = Readonly<{
  id: string
  item_queue_id: string
  queue_id: string
  user_id: string
  table_id: string | null
  table_name: string | null
  table_names: readonly string[]
  data_type: 'file' | 'url' | 'query'
  state: 'pending' | 'uploading' | 'unpacking' | 'importing' | 'complete' | 'failure'
  error_code: number | null
  tables_created_count: number
  synchronization_id: null
  type_guessing: boolean
  quoted_fields_guessing: boolean
  content_guessing: boolean
  create_visualization: boolean
  visualization_id: null
  user_defined_limits: string
  get_error_text: Readonly<{ title: string; what_about: string; source: 'user' | 'cartodb' }> | null
  display_name: string | null
  original_url: string | null
  warnings: ImportWarnings | null
  is_raster: boolean
  created_at: string
  updated_at: string
  progress: Readonly<{
    bytes_read: number
    bytes_total: number
    rows: number
    tables_done: number
    tables_total: number
  }>
  /** With `on_error=skip`, `upsert` and `on_conflict`, when complete: the rows that were loaded, without those left out. */
  total_rows?: number
  /** With `on_error=skip`, if rows were left out. The first 100 are listed, or all with `rejects=all`. */
  rejected_rows?: number
  rejected?: readonly RejectedRow[]
  /** With `rejects=all`. */
  rejected_sections?: readonly RejectedSection[]
  /** With `upsert` and `on_conflict`. */
  inserted_rows?: number
  updated_rows?: number
  /** With `preview`: what would be made. */
  preview?: readonly ImportPreview[]
  /** In a final state. */
  success?: boolean
}>

/** A table that an import would make, or add to. */
export type ImportPreview = Readonly<{
  table: string
  /** The layer of the file; null if the file has no layers. */
  layer: string | null
  rows: number
  columns: readonly Readonly<{ name: string; type: string }>[]
  /** The first ones, of the first 50 columns, as text cut at 100 characters. */
  first_rows: readonly (readonly (string | null)[])[]
  /** In which its text was read; null: only GDAL knows. */
  encoding: string | null
  /** The reference system of the file; null: the file does not name one, or has no coordinates. */
  reference_system: ReferenceSystemDocument | null
  /** GeoJSON geometries of the first rows, simplified for a small map. */
  first_shapes: readonly Readonly<Record<string, unknown>>[]
}>

/** `srid`: null if it has no number in PostGIS. */
export type ReferenceSystemDocument = Readonly<{ srid: number | null; name: string | null }>

/** A new link. Only this answer has its address. */
export type ExportLink = Readonly<{ id: string; url: string; expires_at: string }>

/** A link to the rows of a query. */
export type ExportDocument = Readonly<{
  id: string
  q: string
  format: SqlFormat
  filename: string | null
  /** The name of the key that it runs as. */
  key: string
  downloads: number
  max_downloads: number | null
  created_at: string
  expires_at: string
}>

export type Readiness = Readonly<{
  status: ReadinessStatus
  control: HostVerdict
  /** By name. */
  hosts: Readonly<Record<string, HostVerdict>>
  /** What reads files to import, or what is missing. */
  imports: string
  /** The state of the hosts that answer, by name. */
  replication: Readonly<Record<string, ReplicationDocument>>
}>

export type ReplicationDocument = Readonly<{
  role: ReplicationRole
  standbys?: number
  synchronous?: number
  lag_bytes?: number | null
  lag_ms?: number | null
}>

export type UserDocument = Readonly<{
  username: string
  organization: string | null
  org_role: OrgRole | null
  quota_in_bytes: number
  api_key_quota: number | null
  /** Its own. */
  limits: SetLimits
  plan: string | null
  /** Its own, else those of its plan, else the configured ones. */
  effective_limits: EffectiveLimits
  /** The PostgreSQL cluster that has its database. */
  host: string | null
  schema: string
  created_at: string
  /** Null unless the user is suspended. */
  suspended_at: string | null
  suspended_reason: string | null
}>
export type NewUser = Readonly<{
  username: string
  quota_in_bytes?: number
  organization?: string
  org_admin?: boolean
  api_key?: string
}>
export type UserChanges = Readonly<{
  quota_in_bytes?: number
  api_key_quota?: number | null
  org_admin?: boolean
  limits?: LimitChanges
  /** Null: none. */
  plan?: string | null
}>
/** What is left out stays; null removes a limit. */
export type LimitChanges = Readonly<
  Partial<Record<AccountLimit, number | null>> & {
    rates?: Readonly<Partial<Record<EndpointGroup, string | null>>> | null
  }
>
export type EffectiveLimits = Readonly<
  Record<AccountLimit, number> & { rates: Readonly<Record<EndpointGroup, string>> }
>
/** A named set of limits. */
export type PlanDocument = Readonly<{
  name: string
  limits: SetLimits
  /** How many refer to it. */
  users: number
  created_at: string
  updated_at: string
}>
export type OrganizationDocument = Readonly<{
  name: string
  owner: Readonly<{ username: string | null }>
  /** The PostgreSQL cluster that has its database. */
  host: string | null
  created_at: string
}>
export type NewOrganization = Readonly<{
  name: string
  owner: Pick<NewUser, 'username' | 'quota_in_bytes' | 'api_key'>
}>

export type HostDocument = Readonly<{
  name: string
  databases: number
  /** Without role and password. */
  address: string
  /** False: no user is made there, and none moves there. */
  accepts_users: boolean
  /** The host has only the control database, because its login is not a superuser. */
  control_only: boolean
}>
/** The address names a superuser and its password: it is stored encrypted, and never answered. */
export type NewHost = Readonly<{ name: string; url: string }>
/** At least one of both. */
export type HostChanges = Readonly<{ url?: string; accepts_users?: boolean }>
/** A standby of a host that may answer reads. */
export type ReplicaDocument = Readonly<{
  name: string
  host: string
  /** Without role and password. */
  address: string
}>
/** A user or an organization on its way to another host, or arrived. Times are null until then. */
export type MoveDocument = Readonly<{
  id: number
  /** Null: an organization moves, with all its members. */
  username: string | null
  organization: string | null
  from_host: string
  to_host: string
  phase: MovePhase
  /** In percent. */
  progress: number
  error: string | null
  created_at: string
  /** Since when requests of its users are refused. */
  stopped_at: string | null
  /** Since when they are served again. */
  served_at: string | null
  ended_at: string | null
}>
/** A host that gives its users and organizations to others. */
export type DrainDocument = Readonly<{
  host: string
  /** From this host, and not ended, in the order in which they are carried out. */
  moves: readonly MoveDocument[]
  /** What has no move, and why. */
  left: readonly Readonly<{ username: string | null; organization: string | null; reason: string }>[]
}>
/** A file with a backup in the folder of the service. */
export type BackupDocument = Readonly<{
  file: string
  bytes: number
  created_at: string
  /** Of Cartage. */
  version: string
  /** Of PostgreSQL. */
  postgres: number
  /** The secret of the installation is in it, sealed. A restore of one user does not need it. */
  has_secret: boolean
}>
export type NewRestore = Readonly<{
  file: string
  /** The user in the backup. */
  username: string
  /** The name of the user that is made of it. */
  as: string
}>
/** A user that the service restores from a backup, or has restored. */
export type RestoreDocument = Readonly<{
  id: number
  file: string
  /** When the backup was made. */
  backup_of: string
  username: string
  restored_as: string
  phase: RestorePhase
  /** In percent. */
  progress: number
  error: string | null
  /** The keys of the new user that have new tokens. */
  keys: readonly string[]
  created_at: string
  ended_at: string | null
}>
export type CheckDocument = Readonly<{
  name: string
  status: CheckStatus
  /** What was found, and what to do about it. */
  advice: string
}>
export type AuditDocument = Readonly<{
  id: number
  at: string
  actor: string
  action: AuditAction
  account: string | null
  subject: string | null
  details: Readonly<Record<string, unknown>>
}>
export type AuditFilter = Readonly<{
  account?: string | undefined
  /** The same as `account`. */
  user?: string
  action?: AuditAction | undefined
  /** A time with a time zone. */
  since?: string
  limit?: number
  /** Only what is older than the record of this id. */
  before?: number
}>
export type ActivityDocument = Readonly<{
  running: readonly Readonly<{
    job_id: string
    username: string
    item: number
    items: number
    started_at: string
    host: string
    worker: string | null
  }>[]
  waiting: readonly Readonly<{ username: string; jobs: number; oldest_at: string }>[]
  /** Everything that runs for callers, of all processes, the longest running first. */
  statements: readonly ActivityStatement[]
  left_out: Readonly<{ running: number; waiting: number; statements: number }>
  /** Processes that did not answer in time: what they run is missing in `statements`. */
  silent_processes: number
}>
export type ActivityStatement = Readonly<{
  /** To stop it. Of a job or import: its own id. */
  id: string
  username: string
  /** The name of the key; null for a job, which runs as the account. */
  key: string | null
  kind: ActivityKind
  since: string
  host: string
  /** Null: PostgreSQL works. */
  waits_for: ActivityWait | null
  /** PostgreSQL's own word, such as `Lock: relation`. */
  wait_event: string | null
  /** The ids of the statements that hold it up, or `pid N (role)`. */
  blocked_by: readonly string[]
  /** Null for a statement of the service, an import, and a session between two statements. */
  text: string | null
  text_is_cut: boolean
}>
/** What runs for an account, as it sees it itself. */
export type OwnActivity = Readonly<{
  statements: readonly Pick<
    ActivityStatement,
    'id' | 'key' | 'kind' | 'since' | 'waits_for' | 'text' | 'text_is_cut'
  >[]
  left_out: number
  /** Processes that did not answer in time: what they run is missing in `statements`. */
  silent_processes: number
}>
export type ActivityFilter = Readonly<{
  /** Maximum number of each. */
  limit?: number | undefined
  /** Only the statements of this user. */
  user?: string | undefined
  /** `full`: whole texts; that is recorded. */
  text?: 'cut' | 'full' | undefined
}>
export type UsageDocument = Readonly<{
  username: string
  since: string
  until: string
  by: UsagePeriod
  /** The periods with any use, the oldest first. */
  periods: readonly UsagePeriodDocument[]
}>
export type UsagePeriodDocument = Readonly<{
  /** Its begin, in UTC. */
  from: string
  requests: Readonly<Partial<Record<UsageKind, number>>>
  /** Jobs and imports that are done or have failed; not those that were cancelled. */
  jobs: number
  tiles: number
  /** In which statements had a connection. */
  postgres_seconds: number
  rows_out: number
  rows_in: number
  bytes_out: number
  bytes_in: number
  /** The largest that was measured; null if it was not measured. */
  disk_bytes: number | null
}>
export type UsageFilter = Readonly<{
  /** A day or a time. By default 30 days before `until`. */
  since?: string | undefined
  until?: string | undefined
  by?: UsagePeriod | undefined
}>
export type StoppedActivity = Readonly<{
  stopped: readonly Readonly<{
    id: string
    username: string
    kind: ActivityKind
    /** False: it was stopped, but has not ended yet. */
    has_ended: boolean
  }>[]
  /** Processes that did not answer in time: what they run may not have been stopped. */
  silent_processes: number
}>

/** The history of statements that people ran. */
export type HistoryOutcome = (typeof historyOutcomes)[number]

export type KeptStatement = Readonly<{
  id: string
  /** When the service was told. */
  at: string
  /** The name of the key that ran it; null if that key was deleted. */
  key: string | null
  text: string
  text_is_cut: boolean
  outcome: HistoryOutcome
  /** How long it took. */
  ms: number
  rows: number | null
  /** The code of its error, or its SQLSTATE. */
  code: string | null
}>

export type HistoryList = Readonly<{
  /** For how long statements are kept; 0: the operator keeps none. */
  kept_days: number
  /** The newest first. */
  statements: readonly KeptStatement[]
  /** For `before` of the next page; null: this is the last. */
  next: number | null
}>

export type NewStatement = Readonly<{
  /** A UUID of your own: one that is told twice is kept once. */
  id: string
  text: string
  text_is_cut?: boolean
  outcome: HistoryOutcome
  ms: number
  rows?: number | null
  code?: string | null
  /** The key that ran it, if that is another one: the public key or, with the master key, any of the account. */
  key?: string
}>

export type ToldStatement = Readonly<{
  id: string
  /** False: the operator keeps no history. */
  kept: boolean
}>

export type HistoryFilter = Readonly<{
  /** What ran with this key; with the master key. Unless told, the history of your own key. */
  key?: string | undefined
  /** The user whose key it is: for owners and admins of an organization. */
  target_user?: string | undefined
  /** Statements with this text. */
  search?: string | undefined
  /** `next` of the page before. */
  before?: number | undefined
  limit?: number | undefined
}>
