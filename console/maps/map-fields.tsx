import { randomId } from '../../src/client/http/random-id.ts'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { hasOperatorStyle } from '../result/ground/operator-style.ts'
import type { MapDraft } from './map-draft.ts'

type MapFieldsProps = Readonly<{
  draft: MapDraft
  change: (part: Partial<MapDraft>) => void
  isNew: boolean
}>

/** The title of a map, and who may open it. */
export function MapFields({ draft, change, isNew }: MapFieldsProps) {
  return (
    <>
      <Field label="Title">
        {(props) => (
          <input
            {...props}
            maxLength={200}
            value={draft.title}
            onInput={({ currentTarget }) => change({ title: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Description">
        {(props) => (
          <textarea
            {...props}
            rows={2}
            maxLength={2000}
            value={draft.description}
            onInput={({ currentTarget }) => change({ description: currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Name in the address" help="Letters, digits, _ and -">
        {(props) => (
          <input
            {...props}
            disabled={!isNew}
            spellcheck={false}
            value={draft.name}
            onInput={({ currentTarget }) => change({ name: currentTarget.value })}
          />
        )}
      </Field>
      <Choices draft={draft} change={change} />
      <label class="row">
        <input
          type="checkbox"
          checked={draft.hasLegend}
          onChange={({ currentTarget }) => change({ hasLegend: currentTarget.checked })}
        />
        Legend
      </label>
    </>
  )
}

function Choices({ draft, change }: Omit<MapFieldsProps, 'isNew'>) {
  return (
    <div class="row">
      <SelectField
        label="Basemap"
        value={draft.basemap}
        choose={(basemap) => change({ basemap })}
        options={[
          ['world', hasOperatorStyle ? 'The map of this service' : 'Countries'],
          ['none', 'None'],
          ...(['world', 'none'].includes(draft.basemap) ? [] : [draft.basemap]),
        ]}
      />
      <SelectField
        label="Who can open it"
        value={draft.token ? 'token' : 'open'}
        choose={(who) => change({ token: who === 'open' ? '' : randomId() })}
        options={[
          ['open', 'Everyone'],
          ['token', 'Those who have the whole link'],
        ]}
      />
    </div>
  )
}
