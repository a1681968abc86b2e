import { useRef } from 'preact/hooks'
import { Field } from '../parts/controls/field.tsx'
import { type ComposedItem, moved, newItem } from './composed-job.ts'

type Changing<T> = (next: T) => void

export function ComposedItems({
  items,
  change,
}: Readonly<{ items: readonly ComposedItem[]; change: Changing<readonly ComposedItem[]> }>) {
  const replace = (at: number, part: Partial<ComposedItem>) =>
    change(items.map((item, place) => (place === at ? { ...item, ...part } : item)))
  return (
    <>
      <ol class="items" aria-label="Statements in order">
        {items.map((item, at) => (
          <li key={item.id} class="panel stack">
            <div class="row">
              <strong class="grow">{at + 1}</strong>
              <Arrow
                label={`Move statement ${at + 1} up`}
                sign="↑"
                isOff={at === 0}
                run={() => change(moved(items, at, -1))}
              />
              <Arrow
                label={`Move statement ${at + 1} down`}
                sign="↓"
                isOff={at === items.length - 1}
                run={() => change(moved(items, at, 1))}
              />
              <Arrow
                label={`Remove statement ${at + 1}`}
                sign="✕"
                isOff={items.length === 1}
                run={() => change(items.filter((each) => each !== item))}
              />
            </div>
            <ItemFields item={item} number={at + 1} change={(part) => replace(at, part)} />
          </li>
        ))}
      </ol>
      <div class="row">
        <button type="button" onClick={() => change([...items, newItem()])}>
          Add a statement
        </button>
        <span class="muted small">They run in this order. The first failure ends the job.</span>
      </div>
    </>
  )
}

type ArrowProps = Readonly<{ label: string; sign: string; isOff: boolean; run: () => void }>

function Arrow({ label, sign, isOff, run }: ArrowProps) {
  return (
    <button
      type="button"
      class="quiet square"
      aria-label={label}
      title={label}
      disabled={isOff}
      onClick={run}
    >
      {sign}
    </button>
  )
}

function ItemFields({
  item,
  number,
  change,
}: Readonly<{ item: ComposedItem; number: number; change: Changing<Partial<ComposedItem>> }>) {
  const hasMore = item.onsuccess !== '' || item.onerror !== '' || item.timeoutSeconds !== ''
  return (
    <>
      <Field label={`Statement ${number}`}>
        {(props) => (
          <textarea
            {...props}
            class="mono"
            required
            rows={Math.min(12, Math.max(3, item.query.split('\n').length))}
            spellcheck={false}
            value={item.query}
            onInput={(event) => change({ query: event.currentTarget.value })}
          />
        )}
      </Field>
      <details open={hasMore}>
        <summary>Fallbacks and time limit of statement {number}</summary>
        <div class="stack">
          <FallbackFields
            legend={`After statement ${number}`}
            successHelp="Runs if it succeeded."
            errorHelp="Runs if it failed."
            texts={item}
            change={change}
          />
          <Field
            label={`Time limit of statement ${number}, in seconds`}
            help="Empty: the limit of the service."
          >
            {(props) => (
              <input
                {...props}
                type="number"
                min="0.001"
                step="any"
                value={item.timeoutSeconds}
                onInput={(event) => change({ timeoutSeconds: event.currentTarget.value })}
              />
            )}
          </Field>
        </div>
      </details>
    </>
  )
}

type Texts = Readonly<{ onsuccess: string; onerror: string }>

export function FallbackFields({
  legend,
  successHelp,
  errorHelp,
  texts,
  change,
}: Readonly<{
  legend: string
  successHelp: string
  errorHelp: string
  texts: Texts
  change: Changing<Partial<Texts>>
}>) {
  return (
    <fieldset class="fallbacks">
      <legend>{legend}</legend>
      <FallbackField
        label="onsuccess"
        of={legend}
        help={successHelp}
        placeholders={['job_id']}
        text={texts.onsuccess}
        change={(onsuccess) => change({ onsuccess })}
      />
      <FallbackField
        label="onerror"
        of={legend}
        help={errorHelp}
        placeholders={['job_id', 'error_message']}
        text={texts.onerror}
        change={(onerror) => change({ onerror })}
      />
    </fieldset>
  )
}

type FallbackProps = Readonly<{
  label: string
  of: string
  help: string
  placeholders: readonly string[]
  text: string
  change: Changing<string>
}>

function FallbackField({ label, of: place, help, placeholders, text, change }: FallbackProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const insert = (placeholder: string) => {
    const { selectionStart, selectionEnd } = area.current!
    change(`${text.slice(0, selectionStart)}<%= ${placeholder} %>${text.slice(selectionEnd)}`)
    area.current!.focus()
  }
  return (
    <div class="stack tight">
      <Field
        label={
          <>
            {label} <span class="hidden-text">{place}</span>
          </>
        }
        help={help}
      >
        {(props) => (
          <textarea
            {...props}
            ref={area}
            class="mono"
            rows={2}
            spellcheck={false}
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="row">
        {placeholders.map((placeholder) => (
          <button
            key={placeholder}
            type="button"
            class="small"
            aria-label={`Insert ${placeholder} into ${label} ${place}`}
            onClick={() => insert(placeholder)}
          >
            <code>{`<%= ${placeholder} %>`}</code>
          </button>
        ))}
      </div>
    </div>
  )
}
