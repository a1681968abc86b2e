import { useState } from 'preact/hooks'
import type { ChartDefinition } from '../../../src/contract/charts.ts'
import { isQueryName, queryNameRule, type SavedQueryDocument } from '../../../src/contract/saved-queries.ts'
import { titleOf } from '../../chart/read/title.ts'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { Field } from '../../parts/controls/field.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice, Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { changeDraft, currentDraft, currentId } from '../drafts.ts'
import {
  definedParams,
  type EditedParam,
  editedParams,
  listQueries,
  paramTypes,
  saveQuery,
} from './saved-queries.ts'

type SaveProps = Readonly<{ text: string; name: string; close: () => void }>

/** Saves a statement in the account, under a name by which others run it. */
export function SaveDialog(props: SaveProps) {
  const queries = useLoaded(listQueries, [])
  return (
    <Dialog title="Save query" onClose={props.close} isWide>
      <Load from={queries}>{(known) => <SaveForm {...props} known={known} />}</Load>
    </Dialog>
  )
}

function SaveForm({
  text,
  name: draftName,
  close,
  known,
}: SaveProps & Readonly<{ known: readonly SavedQueryDocument[] }>) {
  const [name, setName] = useState(() => draftName.replace(/[^\w./-]+/g, '-'))
  const former = known.find((query) => query.name === name)
  const [description, setDescription] = useState(() => former?.description ?? '')
  const [isPublic, setPublic] = useState(() => former?.public ?? false)
  const [params, setParams] = useState(() => editedParams(text, currentDraft.peek()?.values ?? {}, former))
  const chart = currentDraft.peek()?.chart ?? former?.chart
  const [hasChart, setHasChart] = useState(true)
  const { isBusy, error, begin } = useWork()
  const save = async () => {
    const definition = { sql: text, description, public: isPublic, params: definedParams(params) }
    await saveQuery(name, { ...definition, ...(chart && hasChart && { chart }) })
    changeDraft(currentId.value, { name })
    toast(`Saved as ${name}`)
    close()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void begin(save)
      }}
    >
      <p>
        Everyone with a key of this account can run it by its name, with the rights of that key. Only the
        Master key shows its SQL.
      </p>
      <NameField name={name} change={setName} />
      <Field label="Description (optional)">
        {(given) => (
          <input
            {...given}
            value={description}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        )}
      </Field>
      {params.length > 0 && <Params params={params} change={setParams} />}
      <PublicField isPublic={isPublic} change={setPublic} />
      {chart && <ChartField chart={chart} hasChart={hasChart} change={setHasChart} />}
      {former && <Notice kind="info">Replaces {name}.</Notice>}
      {error !== undefined && <ErrorNotice error={error} />}
      <DialogActs act={isBusy ? 'Saving…' : 'Save'} isReady={!isBusy && isQueryName(name)} close={close} />
    </form>
  )
}

function NameField({ name, change }: Readonly<{ name: string; change: (name: string) => void }>) {
  return (
    <Field
      label="Name"
      help="Slashes make folders: reports/towns"
      problem={isQueryName(name) ? undefined : `A name must have ${queryNameRule}`}
    >
      {(given) => <input {...given} value={name} onInput={(event) => change(event.currentTarget.value)} />}
    </Field>
  )
}

type ParamsProps = Readonly<{
  params: readonly EditedParam[]
  change: (params: readonly EditedParam[]) => void
}>

function Params({ params, change }: ParamsProps) {
  const changeOne = (name: string, part: Partial<EditedParam>) =>
    change(params.map((param) => (param.name === name ? { ...param, ...part } : param)))
  return (
    <fieldset class="query-params">
      <legend>Parameters</legend>
      {params.map(({ name, type, value, isNull }) => (
        <div key={name} class="row">
          <code>:{name}</code>
          <select
            aria-label={`Type of ${name}`}
            value={type}
            onChange={(event) => changeOne(name, { type: event.currentTarget.value as EditedParam['type'] })}
          >
            {paramTypes.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
          <input
            class="grow"
            aria-label={`Default of ${name}`}
            placeholder={isNull ? 'NULL' : 'no default: required'}
            value={value}
            onInput={(event) => changeOne(name, { value: event.currentTarget.value })}
          />
        </div>
      ))}
    </fieldset>
  )
}

type PublicProps = Readonly<{ isPublic: boolean; change: (isPublic: boolean) => void }>

function PublicField({ isPublic, change }: PublicProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isPublic} onChange={(event) => change(event.currentTarget.checked)} />
      Public: runs without a key, with the rights of Default public
    </label>
  )
}

type ChartFieldProps = Readonly<{
  chart: ChartDefinition
  hasChart: boolean
  change: (hasChart: boolean) => void
}>

function ChartField({ chart, hasChart, change }: ChartFieldProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={hasChart} onChange={(event) => change(event.currentTarget.checked)} />
      With its chart: {chart.kind}, {titleOf(chart)}
    </label>
  )
}
