from tutti.horovod.basics import *
from tutti.horovod.exceptions import HorovodInternalError as HorovodInternalError
from tutti.horovod.exceptions import HostsUpdatedInterrupt as HostsUpdatedInterrupt
