-- What the messages of an RCS template are for (messageTrafficType); null leaves it to the connection.
ALTER TABLE template ADD COLUMN traffic_type text CHECK (traffic_type IS NULL OR channel = 'RCS');
