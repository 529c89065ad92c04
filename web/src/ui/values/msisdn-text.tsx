/** A phone number as the interface writes it, digits evenly wide, never broken or turned around. */
export const MsisdnText = ({ number }: { readonly number: string | null | undefined }) => (
  <span className="tabular" dir="ltr" style={{ whiteSpace: 'nowrap' }}>
    {number ?? '–'}
  </span>
);
