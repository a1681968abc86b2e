import { closeCompletion } from '@codemirror/autocomplete'
import { addCursorAbove, addCursorBelow, isolateHistory, toggleComment } from '@codemirror/commands'
import { setDiagnostics } from '@codemirror/lint'
import { openSearchPanel, selectNextOccurrence, selectSelectionMatches } from '@codemirror/search'
import { Compartment, EditorState, type StateEffect, Text } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import {
  type StatementRange,
  splitStatements,
  statementAt,
  statementWithin,
} from '../../../src/sql-text/statements.ts'
import { catalog } from '../../api/catalog.ts'
import { changeDraft, currentDraft, currentId, type Draft } from '../drafts.ts'
import { sqlLanguage } from './completion.ts'
import { editorSetup } from './editor-setup.ts'

const acts = {
  find: openSearchPanel,
  nextOccurrence: selectNextOccurrence,
  allOccurrences: selectSelectionMatches,
  cursorAbove: addCursorAbove,
  cursorBelow: addCursorBelow,
  comment: toggleComment,
} as const
export type EditorAct = keyof typeof acts

/** What the page can do with the editor. */
export type EditorHandle = Readonly<{
  /** The selection, or else the statement at the cursor. */
  current: () => StatementRange | undefined
  all: () => readonly StatementRange[]
  /** Marks the word at a position as an error. */
  mark: (position: number, message: string) => void
  clearMarks: () => void
  /** Replaces the selection. The cursor goes `back` characters before the end. */
  insert: (text: string, back?: number) => void
  /**
   * Replaces a range by a text with other spaces, as one undo step. Returns false if the range has changed since it was
   * read.
   */
  replace: (range: StatementRange, text: string) => boolean
  /** Runs the act of a key. */
  act: (act: EditorAct) => void
  focus: () => void
}>

export type EditorProps = Readonly<{ ready: (handle: EditorHandle) => void }>

/** In a shadow root, so that CodeMirror's styles need no exception from the policy of the page. */
export function Editor({ ready }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const left = useRef(new Map<string, Left>())

  // Synchronous, so that no key for the new draft reaches the old one. Each draft has its own view: completions that
  // arrive late would otherwise be shown in the next draft.
  const showDraft = () => {
    const id = currentId.value
    const draft = currentDraft.peek()
    if (!draft) return
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const made = new EditorView({ state: newState(draft), ...left.current.get(id), root, parent: root })
    made.dispatch({ effects: language.reconfigure(sqlLanguage(catalog.peek())) })
    view.current = made
    ready(handleOf(made))
    return () => {
      left.current.set(id, { state: made.state, scrollTo: made.scrollSnapshot() })
      made.destroy()
    }
  }
  useLayoutEffect(() => effect(showDraft), [])

  useSignalEffect(() => {
    view.current?.dispatch({ effects: language.reconfigure(sqlLanguage(catalog.value)) })
  })

  return <div class="editor" ref={host} />
}

/** The undo history, cursor and scroll position of a draft that is not shown. */
type Left = Readonly<{ state: EditorState; scrollTo: StateEffect<unknown> }>

const language = new Compartment()

function newState({ id, text }: Draft): EditorState {
  const doc = Text.of(text.split(/\r\n?|\n/))
  return EditorState.create({
    doc,
    selection: { anchor: doc.length },
    extensions: [
      editorSetup(),
      language.of([]),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) changeDraft(id, { text: state.doc.toString() })
      }),
    ],
  })
}

function handleOf(view: EditorView): EditorHandle {
  const text = () => view.state.doc.toString()
  return {
    current: () => {
      closeCompletion(view)
      const { from, to, head, empty } = view.state.selection.main
      return empty ? statementAt(text(), head) : statementWithin(text(), from, to)
    },
    all: () => splitStatements(text()),
    mark: (position, message) => {
      const from = Math.min(position, view.state.doc.length)
      const word = view.state.wordAt(from)
      const to = word && word.to > from ? word.to : Math.min(from + 1, view.state.doc.length)
      view.dispatch(setDiagnostics(view.state, [{ from, to, severity: 'error', message }]), {
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      })
    },
    insert: (text, back = 0) => {
      const { from, to } = view.state.selection.main
      // A name next to a word would merge with it.
      const isTouching = /[\p{L}\p{N}_$"]/u.test(view.state.sliceDoc(Math.max(0, from - 1), from))
      const insert = isTouching ? ` ${text}` : text
      view.dispatch({
        changes: { from, to, insert },
        selection: { anchor: from + insert.length - back },
        scrollIntoView: true,
        userEvent: 'input',
      })
    },
    replace: ({ from, to, text: former }, text) => {
      if (view.state.sliceDoc(from, to) !== former) return false
      const { empty, head } = view.state.selection.main
      const end = from + text.length
      const anchor = empty ? from + samePlace(former.slice(0, Math.max(0, head - from)), text) : from
      view.dispatch({
        changes: { from, to, insert: text },
        selection: empty ? { anchor: Math.min(anchor, end) } : { anchor, head: end },
        annotations: isolateHistory.of('full'),
        scrollIntoView: true,
        userEvent: 'input.format',
      })
      return true
    },
    act: (act) => {
      view.focus()
      acts[act](view)
    },
    clearMarks: () => view.dispatch(setDiagnostics(view.state, [])),
    focus: () => view.focus(),
  }
}

/** The position after as many characters as `before` has, not counting spaces. */
function samePlace(before: string, text: string): number {
  const wanted = before.replace(/\s+/g, '').length
  let count = 0
  let at = 0
  while (count < wanted && at < text.length) if (/\S/.test(text[at++]!)) count++
  return at
}
