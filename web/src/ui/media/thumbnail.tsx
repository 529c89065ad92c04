import { Film, ImageOff } from 'lucide-react';
import { useState } from 'react';
import { type Media, ownLink } from '../../api/media.ts';
import classes from './thumbnail.module.css';

type ThumbnailProps = { readonly media: Pick<Media, 'name' | 'mimeType' | 'thumbnailUrl'> };

/** A picture as small as the list needs it; of a video, its sign. The name stands beside it: this says nothing more. */
export function Thumbnail({ media: { mimeType, thumbnailUrl } }: ThumbnailProps) {
  const [isGone, setGone] = useState(false);
  const Sign = mimeType.startsWith('video/') ? Film : ImageOff;
  return (
    <div className={classes.frame}>
      {thumbnailUrl !== null && !isGone ? (
        <img src={ownLink(thumbnailUrl)} alt="" loading="lazy" onError={() => setGone(true)} />
      ) : (
        <Sign size={32} aria-hidden="true" />
      )}
    </div>
  );
}
