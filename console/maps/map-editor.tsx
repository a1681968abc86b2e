import { useState } from 'preact/hooks'
import type { NamedMapDocument } from '../../src/contract/documents.ts'
import { session } from '../api/session.ts'
import type { TableId } from '../api/tables.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { AddLayer } from './add-layer.tsx'
import { LayerForm } from './layer-form.tsx'
import { draftOf, emptyDraft, type MapDraft, templateOf } from './map-draft.ts'
import { MapFields } from './map-fields.tsx'
import { readMap, saveMap, tokenOf } from './named-maps.ts'
import { Preview } from './preview.tsx'
import { SharePanel } from './share-panel.tsx'

export function NewMap({ table }: Readonly<{ table: TableId | undefined }>) {
  return <MapEditor initial={emptyDraft} isNew {...(table && { table })} runsAs={undefined} />
}

export function ExistingMap({ name }: Readonly<{ name: string }>) {
  const map = useLoaded((signal) => readMap(name, signal), [session.value, name])
  return (
    <Load from={map}>
      {(found) => {
        const draft = draftOf(found.template)
        return draft ? (
          <MapEditor initial={draft} isNew={false} runsAs={found.runs_as} />
        ) : (
          <MadeElsewhere of={found} />
        )
      }}
    </Load>
  )
}

/** A map with its own style can be seen, shared and withdrawn here. */
function MadeElsewhere({ of: { template, runs_as } }: Readonly<{ of: NamedMapDocument }>) {
  return (
    <div class="page">
      <div class="inside stack">
        <MapHead title={template.name} />
        <Notice>This map was not made on this page, so its layers cannot be changed here.</Notice>
        <SharePanel name={template.name} token={tokenOf(template)} runsAs={runs_as} />
      </div>
    </div>
  )
}

function MapHead({ title }: Readonly<{ title: string }>) {
  return (
    <div>
      <p class="small">
        <a href={hrefOf('/maps')}>Maps</a> /
      </p>
      <h1>{title}</h1>
    </div>
  )
}

type EditorProps = Readonly<{
  initial: MapDraft
  isNew: boolean
  table?: TableId
  runsAs: string | undefined
}>

function MapEditor({ initial, isNew, table, runsAs }: EditorProps) {
  const [draft, setDraft] = useState(initial)
  const [saved, setSaved] = useState(initial)
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<MapDraft>) => setDraft((former) => ({ ...former, ...part }))
  const isReady = draft.layers.length > 0 && /^[A-Za-z0-9][A-Za-z0-9_-]{0,254}$/.test(draft.name)
  const isChanged = draft !== saved
  const save = () =>
    begin(async () => {
      await saveMap(templateOf(draft), isNew)
      setSaved(draft)
      toast(isNew ? 'Map made' : 'Map saved')
      if (isNew) navigate(pathTo('maps', 'map', draft.name))
    })
  return (
    <div class="map-editor">
      <div class="map-editor-side stack">
        <form
          class="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void save()
          }}
        >
          <MapHead title={isNew ? 'New map' : initial.name} />
          <MapFields draft={draft} change={change} isNew={isNew} />
          <Layers draft={draft} setDraft={setDraft} table={table} />
          {error !== undefined && <ErrorNotice error={error} />}
          <div class="row">
            <button type="submit" class="primary" disabled={!isReady || isBusy || !isChanged}>
              {isNew ? 'Make map' : 'Save'}
            </button>
            {!isNew && isChanged && <span class="muted">Not saved yet</span>}
          </div>
        </form>
        {!isNew && <SharePanel name={saved.name} token={saved.token} runsAs={runsAs} />}
      </div>
      <Preview draft={draft} moved={(bounds) => change({ bounds })} />
    </div>
  )
}

type LayersProps = Readonly<{
  draft: MapDraft
  setDraft: (change: (former: MapDraft) => MapDraft) => void
  table: TableId | undefined
}>

/** The first one is on top of the others. */
function Layers({ draft: { layers }, setDraft, table }: LayersProps) {
  const change = (to: (former: MapDraft['layers']) => MapDraft['layers']) =>
    setDraft((former) => ({ ...former, layers: to(former.layers) }))
  const move = (at: number, by: number) =>
    change((former) => {
      const [one] = former.slice(at, at + 1)
      return former.toSpliced(at, 1).toSpliced(at + by, 0, one!)
    })
  return (
    <section class="stack" aria-label="Layers">
      <h2>Layers</h2>
      {layers.map((layer, at) => (
        <LayerForm
          key={layer.id}
          layer={layer}
          change={(next) =>
            change((former) => former.map((each) => (each.id === layer.id ? next(each) : each)))
          }
          remove={() => change((former) => former.filter(({ id }) => id !== layer.id))}
          {...(at > 0 && { up: () => move(at, -1) })}
          {...(at < layers.length - 1 && { down: () => move(at, 1) })}
        />
      ))}
      <AddLayer
        ids={layers.map(({ id }) => id)}
        table={table}
        add={(layer, bounds) =>
          setDraft((former) => ({
            ...former,
            ...(former.title === '' && { title: layer.title }),
            ...(former.name === '' && { name: nameOf(layer.title) }),
            ...(former.bounds === undefined && { bounds }),
            layers: [layer, ...former.layers],
          }))
        }
      />
    </section>
  )
}

/** For an address: letters, digits and hyphens. */
const nameOf = (title: string) =>
  title
    .normalize('NFD')
    .replace(/[^\w-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, 60)
