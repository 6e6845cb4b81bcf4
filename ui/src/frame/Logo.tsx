/** A wheel and the pawl that lets it go one way only. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <circle cx="8" cy="12" r="5" />
      <path d="M8 12h.01M17.5 2.5 11.8 8.2M17.5 2.5H13M17.5 2.5V7" />
    </svg>
  );
}
