package shm

import "heddle/verbs"

// Provider is the kind "shm". Its one device, shm0, is there on Linux.
type Provider struct{}

// Name implements verbs.Provider.
func (Provider) Name() string { return "shm" }

var _ verbs.Provider = Provider{}
