"""The algorithms behind the parts: functions over gradients, which know neither methods nor rounds."""
