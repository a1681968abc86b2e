import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension, StateField } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  rectangularSelection,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { splitStatements } from '../../../src/sql-text/statements.ts'

/** The editor without what depends on the page. Tab moves the focus; Ctrl+] indents. */
export function editorSetup(): Extension {
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection({ cursorBlinkRate: isStill() ? 0 : 1200 }),
    EditorState.allowMultipleSelections.of(true),
    EditorView.clickAddsSelectionRange.of(({ altKey, ctrlKey, metaKey }) => altKey || ctrlKey || metaKey),
    indentOnInput(),
    syntaxHighlighting(highlighting),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false, maxRenderedOptions: 60 }),
    rectangularSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    EditorView.lineWrapping,
    statementShade,
    placeholder('Write SQL. Ctrl+Enter runs the statement at the cursor.'),
    EditorView.contentAttributes.of({
      'aria-label': 'SQL',
      spellcheck: 'false',
    }),
    replaceWithoutStyle,
    theme,
    keymap.of([
      { key: 'Mod-]', run: indentMore },
      { key: 'Mod-[', run: indentLess },
      ...closeBracketsKeymap,
      ...completionKeymap,
      // The page handles Mod-Enter: it runs the statement.
      ...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'),
      ...searchKeymap,
      ...historyKeymap,
    ]),
  ]
}

/** With reduced motion the cursor does not blink. The CSS of the page does not reach the editor. */
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/** Chromium copies the style of replaced text into the new text, which violates the policy of the page. */
const replaceWithoutStyle = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { from, to, empty } = view.state.selection.main
    const isPlain = event.inputType === 'insertText' && event.data !== null && !view.composing
    if (empty || !isPlain || view.state.selection.ranges.length > 1) return false
    event.preventDefault()
    const text = event.data!
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type' })
    const isTaken = view.state
      .facet(EditorView.inputHandler)
      .some((take) => take(view, from, to, text, insert))
    if (!isTaken) view.dispatch(insert())
    return true
  },
})

const shadedLine = Decoration.line({ class: 'cm-statement' })

/** Shades the statement that Ctrl+Enter would run, if there are several. */
const statementShade = StateField.define<DecorationSet>({
  create: shadeOf,
  update: (shade, { docChanged, selection, state }) => (docChanged || selection ? shadeOf(state) : shade),
  provide: (field) => EditorView.decorations.from(field),
})

/** Splitting a longer text at every key would be slow. */
const longestShaded = 200_000

function shadeOf(state: EditorState): DecorationSet {
  if (state.doc.length > longestShaded) return Decoration.none
  const statements = splitStatements(state.doc.toString())
  const position = state.selection.main.head
  const current = statements.findLast(({ from }) => from <= position) ?? statements[0]
  if (!current || statements.length < 2) return Decoration.none
  const first = state.doc.lineAt(current.from).number
  const last = state.doc.lineAt(current.to).number
  const lines = Array.from({ length: last - first + 1 }, (_, at) => state.doc.line(first + at))
  return Decoration.set(lines.map(({ from }) => shadedLine.range(from)))
}

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--syntax-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--syntax-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--syntax-number)' },
  { tag: tags.comment, color: 'var(--syntax-comment)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--syntax-name)' },
])

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '14px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { color: 'var(--text)' },
  '.cm-statement': { backgroundColor: 'color-mix(in srgb, var(--accent-soft) 55%, transparent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection) !important',
  },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-matchingBracket, .cm-nonmatchingBracket': { backgroundColor: 'var(--selection)', color: 'inherit' },
  '.cm-selectionMatch': { backgroundColor: 'var(--selection)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '14em' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-diagnostic': { padding: '4px 8px' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--danger)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger)',
    backgroundColor: 'var(--danger-soft)',
  },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '6px 28px 6px 8px' },
  '.cm-panel.cm-search [name=close]': {
    color: 'var(--text)',
    fontSize: '18px',
    width: '24px',
    height: '24px',
  },
  '.cm-panel.cm-search label': { fontSize: '13px', color: 'var(--text)' },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    fontSize: '13px',
    minHeight: '26px',
  },
  '.cm-textfield': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    fontSize: '13px',
    minHeight: '26px',
  },
  '.cm-button:active': { backgroundImage: 'none', backgroundColor: 'var(--accent-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warning-soft)', outline: '1px solid var(--warning)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--selection)' },
})
