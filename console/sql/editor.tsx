import { closeCompletion } from '@codemirror/autocomplete'
import { setDiagnostics } from '@codemirror/lint'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { catalog } from '../api/catalog.ts'
import { sqlLanguage } from './completion.ts'
import { changeDraft, type Draft } from './drafts.ts'
import { editorSetup } from './editor-setup.ts'
import { type Statement, splitStatements, statementAt } from './statements.ts'

/** What the page does with the editor. */
export type EditorHandle = Readonly<{
  /** The selection if there is one, else the statement at the cursor. */
  current: () => Statement | undefined
  all: () => readonly Statement[]
  /** Marks a word from a position on. */
  mark: (position: number, message: string) => void
  clearMarks: () => void
  focus: () => void
}>

type EditorProps = Readonly<{ draft: Draft; ready: (handle: EditorHandle) => void }>

/** In a shadow root, where CodeMirror's styles need no exception from the policy of the page. */
export function Editor({ draft, ready }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const states = useRef(new Map<string, EditorState>())
  const shown = useRef(draft.id)

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const made = new EditorView({ state: newState(draft), root, parent: root })
    view.current = made
    shown.current = draft.id
    ready(handleOf(made))
    return () => made.destroy()
  }, [])

  // Every draft keeps its own undo, cursor and scroll.
  useEffect(() => {
    const made = view.current
    if (!made || shown.current === draft.id) return
    states.current.set(shown.current, made.state)
    shown.current = draft.id
    made.setState(states.current.get(draft.id) ?? newState(draft))
    made.dispatch({ effects: language.reconfigure(sqlLanguage(catalog.value)) })
    made.focus()
  }, [draft.id])

  useSignalEffect(() => {
    view.current?.dispatch({ effects: language.reconfigure(sqlLanguage(catalog.value)) })
  })

  return <div class="editor" ref={host} />
}

const language = new Compartment()

function newState({ id, text }: Draft): EditorState {
  return EditorState.create({
    doc: text,
    selection: { anchor: text.length },
    extensions: [
      editorSetup(),
      language.of(sqlLanguage(catalog.value)),
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
      return empty ? statementAt(text(), head) : { from, to, text: view.state.sliceDoc(from, to) }
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
    clearMarks: () => view.dispatch(setDiagnostics(view.state, [])),
    focus: () => view.focus(),
  }
}
