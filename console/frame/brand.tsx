export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <rect width="16" height="16" rx="3.5" fill="#0b6e6e" />
        <path
          d="M11.5 5.2A4.2 4.2 0 1 0 11.5 10.8"
          fill="none"
          stroke="#fff"
          stroke-width="2"
          stroke-linecap="round"
        />
      </svg>
      <span>Cartage</span>
    </span>
  )
}
