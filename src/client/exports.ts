/** What `cartage/client` has in Node and in browsers alike. */

export type { ChartAggregate, ChartDefinition, ChartKind, ChartOrder } from '../contract/charts.ts'
export type {
  DashboardDefinition,
  DashboardDocument,
  DashboardFilter,
  DashboardPart,
  DashboardSummary,
} from '../contract/dashboards.ts'
export type * from '../contract/documents.ts'
export type { ErrorCode } from '../contract/error-codes.ts'
export type { Api, DataService, SchemaPermission, TablePermission } from '../contract/grants.ts'
export type { HostVerdict } from '../contract/health-names.ts'
export type { JobStatus, StepStatus } from '../contract/job-status.ts'
export type { KeyType } from '../contract/key-names.ts'
export type {
  QueryDefinition,
  QueryParam,
  QueryParams,
  QueryParamType,
  SavedQueryDocument,
} from '../contract/saved-queries.ts'
export type {
  DeliveryDocument,
  DeliveryList,
  DeliveryStatus,
  NewWebhookDocument,
  Notify,
  WebhookDefinition,
  WebhookDocument,
  WebhookEvent,
} from '../contract/webhooks.ts'
export type { AdminClient, AdminOptions } from './admin-client.ts'
export type { LoadParameters } from './api/copy-upload.ts'
export type { DeleteOptions, SaveOptions, TaggedDashboard } from './api/dashboards-api.ts'
export type {
  CopyFromOptions,
  CopyToOptions,
  DownloadOptions,
  SqlOptions,
  SqlParameters,
} from './api/data-api.ts'
export type { LinkOptions } from './api/exports-api.ts'
export type { ImportedFile, ImportedRows, Importing, ImportOptions } from './api/imports-api.ts'
export type { Submitting } from './api/jobs-api.ts'
export type { KeyListing, Target } from './api/keys-api.ts'
export type {
  DataviewOptions,
  DataviewSearch,
  MapConfig,
  MapFilters,
  MapTileOptions,
  ViewerTokens,
} from './api/maps-api.ts'
export type { RunOptions } from './api/queries-api.ts'
export type { RowStream, SqlSummary } from './api/row-stream.ts'
export type { Transaction, TransactionOptions } from './api/session-api.ts'
export { type BoundStatement, type SqlValue, type Statement, statement } from './api/sql-statement.ts'
export type { DatasetListing, TableListing } from './api/tables-api.ts'
export type { TileOptions, TransformRequest } from './api/tiles-api.ts'
export type { Following, Waiting } from './api/until-answered.ts'
export type { Finished, PartialFile, Resuming, UploadMetadata } from './api/uploads-api.ts'
export type { DeliveryListing } from './api/webhooks-api.ts'
export { CartageError, type ClientErrorCode } from './cartage-error.ts'
export { ExactNumber, type Numbers } from './exact-json.ts'
export type { RanStatement } from './history-api.ts'
export type { Body, Progress } from './http/transport.ts'
export { ImportError, JobError, JobNotFollowedError } from './job-errors.ts'
export type { ClientSession, SessionDownloadOptions, SessionSqlOptions } from './session/client-session.ts'
export type { Client, ClientOptions } from './user-client.ts'
