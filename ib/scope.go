package ib

import "strconv"

// Scope says how far a multicast group reaches, 4 bits. Only those beyond
// link-local may pass a router.
type Scope uint8

// The scopes that the standard names. It leaves others to administrators, and
// reserves 0 and 15.
const (
	ScopeLinkLocal    Scope = 0x2
	ScopeSiteLocal    Scope = 0x5
	ScopeOrganization Scope = 0x8
	ScopeGlobal       Scope = 0xE
)

// IsValid tells whether s is not reserved: 1 to 14.
func (s Scope) IsValid() bool { return s > 0 && s < 15 }

// String gives the scope's name, or Scope(n) where it has none.
func (s Scope) String() string {
	switch s {
	case ScopeLinkLocal:
		return "link-local"
	case ScopeSiteLocal:
		return "site-local"
	case ScopeOrganization:
		return "organization-local"
	case ScopeGlobal:
		return "global"
	}
	return "Scope(" + strconv.Itoa(int(s)) + ")"
}
