import { useState } from 'preact/hooks'
import { readColumns, readRules, type Table, type TableColumn, type TableRule } from '../api/tables.ts'
import { formatBytes } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { Table as ListTable } from '../parts/table.tsx'
import { AddColumn, ChangeColumn, DropColumn } from './structure/column-dialogs.tsx'
import { CreateIndex, DropRule } from './structure/index-dialogs.tsx'

type Of = Readonly<{ table: Table }>

/** Only its owner can change a table. Others see a text instead of buttons. */
const canChange = ({ kind, isOwned }: Table) => kind === 'table' && isOwned

function WhyFixed({ table: { kind } }: Of) {
  return (
    <p class="muted small">
      {kind === 'table'
        ? 'Only the Master key of its owner can change this.'
        : `The columns of a ${kind} are changed with SQL.`}
    </p>
  )
}

type ColumnAct = Readonly<{ kind: 'add' } | { kind: 'change' | 'drop'; column: TableColumn }>

export function ColumnsView({ table }: Of) {
  const columns = useLoaded((signal) => readColumns(table, signal), [table.schema, table.name])
  const [opened, open] = useState<ColumnAct | undefined>(undefined)
  const isFree = canChange(table)
  const acts = isFree ? ['Acts'] : []
  return (
    <Load from={columns}>
      {(found) => (
        <div class="stack structure">
          {isFree ? (
            <div class="row">
              <button type="button" onClick={() => open({ kind: 'add' })}>
                Add column
              </button>
            </div>
          ) : (
            <WhyFixed table={table} />
          )}
          <ListTable label="Columns" head={['Column', 'Type', 'Nullable', 'Default', 'Comment', ...acts]}>
            {found.map((column) => (
              <ColumnLine key={column.name} column={column} {...(isFree && { open })} />
            ))}
          </ListTable>
          {opened && (
            <ColumnDialog
              act={opened}
              table={table}
              close={() => open(undefined)}
              done={() => {
                open(undefined)
                columns.reload()
              }}
            />
          )}
        </div>
      )}
    </Load>
  )
}

type DialogProps = Of & Readonly<{ close: () => void; done: () => void }>

function ColumnDialog({ act, ...props }: DialogProps & Readonly<{ act: ColumnAct }>) {
  if (act.kind === 'add') return <AddColumn {...props} />
  return act.kind === 'change' ? (
    <ChangeColumn column={act.column} {...props} />
  ) : (
    <DropColumn column={act.column} {...props} />
  )
}

type LineProps = Readonly<{ column: TableColumn; open?: (act: ColumnAct) => void }>

function ColumnLine({ column, open }: LineProps) {
  const { name, type, isNullable, fallback, comment } = column
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{type}</td>
      <td>{isNullable ? 'yes' : 'no'}</td>
      <td>
        <code>{fallback}</code>
      </td>
      <td>{comment}</td>
      {open && (
        <td>
          <span class="row">
            <button
              type="button"
              aria-label={`Change ${name}`}
              onClick={() => open({ kind: 'change', column })}
            >
              Change
            </button>
            <button
              type="button"
              class="danger"
              aria-label={`Drop ${name}`}
              onClick={() => open({ kind: 'drop', column })}
            >
              Drop
            </button>
          </span>
        </td>
      )}
    </tr>
  )
}

/** Indexes and constraints. */
export function RulesView({ table }: Of) {
  const rules = useLoaded((signal) => readRules(table, signal), [table.schema, table.name])
  const columns = useLoaded((signal) => readColumns(table, signal), [table.schema, table.name])
  const [opened, open] = useState<TableRule | 'create' | undefined>(undefined)
  const dialog = {
    table,
    close: () => open(undefined),
    done: () => {
      open(undefined)
      rules.reload()
    },
  }
  const canIndex = table.isOwned && (table.kind === 'table' || table.kind === 'materialized view')
  return (
    <Load from={rules}>
      {(found) => (
        <div class="stack structure">
          {canIndex && (
            <div class="row">
              <button type="button" disabled={!columns.value} onClick={() => open('create')}>
                Create index
              </button>
            </div>
          )}
          {found.length === 0 ? (
            <Empty>No indexes or constraints.</Empty>
          ) : (
            <RuleList rules={found} {...(canIndex && { drop: open })} />
          )}
          {opened === 'create' ? (
            <CreateIndex columns={columns.value ?? []} {...dialog} />
          ) : (
            opened && <DropRule rule={opened} {...dialog} />
          )}
        </div>
      )}
    </Load>
  )
}

type RulesProps = Readonly<{ rules: readonly TableRule[]; drop?: (rule: TableRule) => void }>

function RuleList({ rules, drop }: RulesProps) {
  const acts = drop ? ['Acts'] : []
  // The index of a constraint is dropped with it.
  const isOfConstraint = ({ name, kind }: TableRule) =>
    kind === 'index' && rules.some((other) => other.kind !== 'index' && other.name === name)
  return (
    <ListTable label="Indexes and constraints" head={['Name', 'Kind', 'Definition', 'Size', ...acts]}>
      {rules.map((rule) => (
        <tr key={`${rule.kind}\n${rule.name}`}>
          <th scope="row">{rule.name}</th>
          <td>{rule.kind}</td>
          <td>
            <code>{rule.definition}</code>
          </td>
          <td class="number">{rule.bytes !== null && formatBytes(rule.bytes)}</td>
          {drop && (
            <td>
              {!isOfConstraint(rule) && (
                <button
                  type="button"
                  class="danger"
                  aria-label={`Drop ${rule.kind} ${rule.name}`}
                  onClick={() => drop(rule)}
                >
                  Drop
                </button>
              )}
            </td>
          )}
        </tr>
      ))}
    </ListTable>
  )
}
