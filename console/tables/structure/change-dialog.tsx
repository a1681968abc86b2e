import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { noteCatalogChange } from '../../api/catalog.ts'
import { startJob } from '../../api/jobs.ts'
import { session } from '../../api/session.ts'
import { changeBySql } from '../../api/sql.ts'
import { navigate, pathTo } from '../../parts/browser/route.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { Field } from '../../parts/controls/field.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'

type ChangeProps = Readonly<{
  title: string
  act: string
  /** Empty while there is nothing to do. */
  sql: string
  isDanger?: boolean
  /** A word that must be typed first. */
  typed?: string
  /** May take longer than the time limit of a request. */
  isLong?: boolean
  close: () => void
  done: () => void
  children?: ComponentChildren
}>

/** A form that changes the structure of a table. It shows the SQL that it runs. */
export function ChangeDialog(props: ChangeProps) {
  const { title, act, sql, isDanger = false, typed, isLong = false, close, done, children } = props
  const { isBusy, error, begin } = useWork()
  const [word, setWord] = useState('')
  const isReady = sql !== '' && !isBusy && (typed === undefined || word === typed)
  const run = async () => {
    await changeBySql(sql)
    noteCatalogChange()
    done()
  }
  const runAsJob = async () => navigate(pathTo('jobs', (await startJob(sql)).job_id))
  const submit = (event: Event) => {
    event.preventDefault()
    if (isReady) void begin(run)
  }
  return (
    <Dialog title={title} onClose={close}>
      <form class="stack structure-form" onSubmit={submit}>
        {children}
        {sql !== '' && <CodeBlock label="SQL of this change" text={sql} />}
        {typed !== undefined && (
          <Field label={`Type ${typed} to confirm`}>
            {(given) => (
              <input
                {...given}
                value={word}
                autocomplete="off"
                onInput={(event) => setWord(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        {error !== undefined && <ErrorNotice error={error} />}
        <DialogActs act={act} isReady={isReady} isDanger={isDanger} close={close}>
          {isLong && session.value?.isMaster && (
            <button type="button" disabled={!isReady} onClick={() => void begin(runAsJob)}>
              Run as a job
            </button>
          )}
        </DialogActs>
      </form>
    </Dialog>
  )
}

type TextProps = Readonly<{
  label: string
  help?: string
  value: string
  change: (value: string) => void
  list?: readonly string[]
}>

/** A field of one line, with texts to choose from. */
export function TextLine({ label, help, value, change, list }: TextProps) {
  return (
    <Field label={label} help={help}>
      {(given) => (
        <>
          <input
            {...given}
            type="text"
            value={value}
            autocomplete="off"
            spellcheck={false}
            {...(list && { list: `${given.id}-list` })}
            onInput={(event) => change(event.currentTarget.value)}
          />
          {list && (
            <datalist id={`${given.id}-list`}>
              {list.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

type CheckProps = Readonly<{ label: ComponentChildren; isOn: boolean; turn: (isOn: boolean) => void }>

export function CheckLine({ label, isOn, turn }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => turn(event.currentTarget.checked)} />
      {label}
    </label>
  )
}
