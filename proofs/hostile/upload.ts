const BOUNDARY = 'heliograph-proof';

/** The parts of a form before and after a file. */
export const formAround = (
  fileName: string,
): { readonly type: string; readonly begin: string; readonly end: string } => ({
  type: `multipart/form-data; boundary=${BOUNDARY}`,
  begin: `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${fileName}"\r\n\r\n`,
  end: `\r\n--${BOUNDARY}--\r\n`,
});
