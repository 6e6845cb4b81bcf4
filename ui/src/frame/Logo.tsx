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
      <path d="M13.2 6.8L13.3 11.6L15.2 11.6L11.9 15.1L13.2 16.4L8.4 16.5L8.4 18.4L4.9 15.1L3.6 16.4L3.5 11.6L1.6 11.6L4.9 8.1L3.6 6.8L8.4 6.7L8.4 4.8L11.9 8.1z" />
      <circle cx="8.4" cy="11.6" r="1" />
    </svg>
  );
}
