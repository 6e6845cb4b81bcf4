UPDATE quota_epoch SET epoch = epoch + 1 RETURNING epoch
