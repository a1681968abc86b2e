import { queryParamTypes } from '../../../src/contract/saved-queries.ts'
import { plural } from '../../parts/format.ts'
import { type GivenValue, problemOf } from './bind.ts'
import { fieldId, givenFor, giveValue, labelsLeftOut, marked, shownLabels } from './given-values.ts'

/** A field for each parameter of the draft. The values are sent beside the statement, never as part of it. */
export function ParameterFields() {
  const labels = shownLabels.value
  if (labels.length === 0) return null
  return (
    <fieldset class="parameters">
      <legend class="hidden-text">Parameters</legend>
      {labels.map((label) => (
        <ParameterField key={label} label={label} />
      ))}
      {labelsLeftOut.value > 0 && (
        <p class="small muted">{plural(labelsLeftOut.value, 'more parameter')} without a field.</p>
      )}
    </fieldset>
  )
}

function ParameterField({ label }: Readonly<{ label: string }>) {
  const given = givenFor(label)
  const problem = marked.value.has(label) ? problemOf(given) : undefined
  const id = fieldId(label)
  return (
    <div class="parameter">
      <label for={id}>
        <code>{label}</code>
      </label>
      <select
        aria-label={`Type of ${label}`}
        title="auto: PostgreSQL takes the type from the statement"
        value={given.type}
        onChange={(event) => giveValue(label, { type: event.currentTarget.value as GivenValue['type'] })}
      >
        {['auto', ...queryParamTypes].map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
      <input
        id={id}
        class="grow"
        spellcheck={false}
        autocomplete="off"
        value={given.text ?? ''}
        disabled={given.isNull ?? false}
        placeholder={given.isNull ? 'NULL' : given.text === '' && given.type === 'text' ? 'empty text' : ''}
        {...(problem && { 'aria-invalid': 'true', 'aria-describedby': `${id}-problem` })}
        onInput={(event) => giveValue(label, { text: event.currentTarget.value })}
      />
      <label class="check">
        <input
          type="checkbox"
          aria-label={`NULL for ${label}`}
          checked={given.isNull ?? false}
          onChange={(event) => giveValue(label, { isNull: event.currentTarget.checked })}
        />
        NULL
      </label>
      {problem && (
        <span id={`${id}-problem`} class="problem small">
          {problem}
        </span>
      )}
    </div>
  )
}
