package mad

import "testing"

func TestStatusString(t *testing.T) {
	checkStrings(t, []Status{
		StatusOK, StatusBusy, StatusRedirect, StatusBadVersion, StatusBadMethod, StatusBadAttribute, StatusBadField,
		0x0010, 0x0014, 0x0018,
		StatusSANoResources, StatusSANoRecords | StatusBusy, 0x8000, StatusRedirect | StatusBusy | StatusBadField | 0x0060,
	},
		"ok", "busy", "redirected", "version or class not supported", "method not supported",
		"method and attribute not supported together", "invalid value in attribute or modifier",
		"reserved code 4", "reserved code 5", "reserved code 6",
		"0x0100", "busy, 0x0300", "0x8000", "busy, redirected, invalid value in attribute or modifier, 0x0060")
}
