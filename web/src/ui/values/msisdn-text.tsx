/** A phone number in E.164, in tabular digits, never wrapped or reversed. */
export const MsisdnText = ({ number }: { readonly number: string | null | undefined }) => (
  <span className="tabular" dir="ltr" style={{ whiteSpace: 'nowrap' }}>
    {number ?? '–'}
  </span>
);
