package verbs

// Status is how a request ended.
type Status uint8

// The results, as in the specification's completion return codes.
const (
	StatusOK Status = iota
	StatusLocalLength
	StatusLocalQPOperation
	StatusLocalProtection
	StatusFlushed
	StatusBind
	StatusBadResponse
	StatusLocalAccess
	StatusRemoteInvalidRequest
	StatusRemoteAccess
	StatusRemoteOperation
	StatusRetryExceeded
	StatusRNRRetryExceeded
	StatusRemoteAborted
	StatusFatal
	StatusResponseTimeout
	StatusGeneral
)
