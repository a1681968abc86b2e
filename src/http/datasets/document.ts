import type { Account } from '../../auth/account.ts'
import type { DatasetDocument, TableDetails, TableDocument, TableList } from '../../contract/documents.ts'
import type { TableInfo } from '../../tables/list-tables.ts'

/** A list of "visualizations", all of them tables. `url`: the base of the account's endpoints. */
export function tablesDocument(
  tables: readonly TableInfo[],
  total: number,
  account: Account,
  url: string,
): TableList {
  return {
    visualizations: tables.map((table) => tableDocument(table, account, url)),
    total_entries: total,
    total_user_entries: total,
    total_likes: 0,
    total_shared: 0,
  }
}

/**
 * A table as a "visualization" of type table. Clients sort by `updated_at`: a table without recorded changes gets the
 * creation time of its account.
 */
export function tableDocument(table: TableInfo, account: Account, url: string): TableDocument {
  const privacy = table.isPublic ? 'PUBLIC' : 'PRIVATE'
  const updatedAt = (table.updatedAt ?? account.createdAt).toISOString()
  return {
    id: table.name,
    name: table.name,
    display_name: table.name,
    type: 'table',
    kind: 'geom',
    privacy,
    updated_at: updatedAt,
    title: null,
    description: null,
    tags: [],
    locked: false,
    dependent_visualizations: [],
    dependent_visualizations_count: 0,
    url: `${url}/api/v1/viz/${encodeURIComponent(table.name)}`,
    table: {
      id: table.name,
      name: table.name,
      schema: table.schema,
      privacy,
      updated_at: updatedAt,
      size: table.bytes,
      row_count: table.estimatedRows === null ? null : Math.round(table.estimatedRows),
    },
  }
}

/** The same table by the endpoint that clients ask for its rows and geometry. */
export function detailsDocument(
  table: TableInfo,
  account: Account,
  geometryTypes: readonly string[],
): TableDetails {
  const { name, schema, isPublic, updatedAt, bytes, estimatedRows } = table
  const rows = estimatedRows === null ? null : Math.round(estimatedRows)
  return {
    id: name,
    name,
    privacy: isPublic ? 'PUBLIC' : 'PRIVATE',
    schema,
    updated_at: (updatedAt ?? account.createdAt).toISOString(),
    rows_counted: rows,
    row_count: rows,
    table_size: bytes,
    size: bytes,
    geometry_types: geometryTypes,
    table_visualization: { id: name, name },
  }
}

export function datasetDocument(table: TableInfo): DatasetDocument {
  return {
    table_schema: table.schema,
    name: table.name,
    type: table.kind,
    mode: table.isWritable ? 'rw' : 'r',
    cartodbfied: table.isPrepared,
    shared: false,
    privacy: table.isPublic ? 'public' : 'private',
    updated_at: table.updatedAt?.toISOString() ?? null,
  }
}
